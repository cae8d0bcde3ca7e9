/** JSON that is given as its text, or as its value. */

/** Returns the value of either form; `undefined` for a text that is no JSON. */
export const givenJson = (given: unknown): unknown => {
  if (typeof given !== "string") return given
  try {
    return JSON.parse(given)
  } catch {
    return undefined
  }
}
