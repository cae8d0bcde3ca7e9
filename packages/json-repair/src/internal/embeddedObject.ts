/**
 * Embedded object: finds the one JSON object of a text, alone, in a Markdown fence, or with prose around it.
 *
 * Finds only its start and its end; it does not parse.
 */

/** A fence with a JSON object in it. `[^`]` keeps the search in proportion to the text. */
const fence = /```[^\n`]*\n([^`]*)```/g

/** Returns the index behind the object that starts at `start`, or `undefined` when it is cut off. */
const endOf = (text: string, start: number): number | undefined => {
  let depth = 0
  let inString = false
  for (let i = start; i < text.length; i++) {
    const char = text[i]
    if (inString) {
      if (char === "\\") i++
      else if (char === "\"") inString = false
    } else if (char === "\"") inString = true
    else if (char === "{") depth++
    else if (char === "}" && --depth === 0) return i + 1
  }
  return undefined
}

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Number of positions that are tried as the start of an object: prose with more braces is not searched. */
const maxCandidates = 20

/** Objects in the text that parse unchanged, in their order, none within another. */
const wholeObjects = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let start = text.indexOf("{")
  for (let tried = 0; start >= 0 && tried < maxCandidates; tried++) {
    const end = endOf(text, start)
    const candidate = end === undefined ? undefined : text.slice(start, end)
    const fits = candidate !== undefined && parses(candidate)
    if (fits) found.push(candidate)
    start = text.indexOf("{", fits ? end! : start + 1)
  }
  return found
}

/**
 * Returns the text of the intended object, or `undefined` if there is none or more than one. An object that does not
 * parse reaches from the first brace to the last, or to the end of the text if it is cut off.
 */
export const embeddedObject = (text: string): string | undefined => {
  const fenced = [...text.matchAll(fence)].map(([, inner]) => inner!.trim()).filter((inner) => inner.startsWith("{"))
  if (fenced.length > 1) return undefined
  const [only] = fenced
  if (only !== undefined) return only
  const trimmed = text.trim()
  const start = trimmed.indexOf("{")
  if (start < 0) return undefined
  if (start > 0 || !trimmed.endsWith("}")) {
    const whole = wholeObjects(trimmed)
    if (whole.length > 1) return undefined
    // An object that parses within one that does not is only a part of the intended one.
    if (whole.length === 1 && (start > 0 || trimmed.startsWith(whole[0]!))) return whole[0]
  }
  const end = trimmed.lastIndexOf("}")
  return endOf(trimmed, start) === undefined ? trimmed.slice(start) : trimmed.slice(start, end + 1)
}
