/** The original text of one value within a JSON text: parsing loses digits of numbers and repeated keys. */

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g

/** The text of an element or a field of a valid JSON text. Of two equal keys the last one counts, as in `JSON.parse`. */
const child = (text: string, key: string | number): string | undefined => {
  let found: string | undefined
  let depth = 0
  let start = 0
  let at: string | number | undefined
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const isEnd = depth === 1 && (token === "," || token === "}" || token === "]")
    if (isEnd && at === key) found = text.slice(start, index).trim()
    if (token === "{" || token === "[") depth++
    else if (token === "}" || token === "]") depth--
    if (depth !== 1 || token.startsWith("\"") || token === "}" || token === "]") continue
    if (token === "[") at = 0
    else if (token === ":") at = JSON.parse(text.slice(start, index)) as string
    else if (typeof at === "number") at++
    else at = undefined
    start = index + 1
  }
  return found === "" ? undefined : found
}

/** The text of the value at a path of a valid JSON text; none if there is no such value. */
export const jsonPart = (text: string, path: ReadonlyArray<string | number>): string | undefined =>
  path.reduce<string | undefined>((part, key) => part === undefined ? undefined : child(part, key), text)
