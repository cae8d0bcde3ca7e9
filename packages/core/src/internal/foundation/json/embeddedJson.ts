/**
 * Finds the JSON in a model's text: alone, in a Markdown fence, or with prose around it. It neither repairs nor
 * chooses: several values count as none.
 */

/** The content of each fence. `[^`]` keeps the search in proportion to the text. */
const fence = /```[^\n`]*\n([^`]*)```/g

/** Number of braces that are tried as the start of an object. */
const maxCandidates = 20

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** @internal Returns the index behind the object that starts at `start`; `undefined` if it is cut off. */
export const objectEnd = (text: string, start: number): number | undefined => {
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

/** @internal The objects in a text that parse, in their order, none within another. Prose with more braces than 20 is not searched further. */
export const objectsIn = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let start = text.indexOf("{")
  for (let tried = 0; start >= 0 && tried < maxCandidates; tried++) {
    const end = objectEnd(text, start)
    const object = end === undefined ? undefined : text.slice(start, end)
    const isObject = object !== undefined && parses(object)
    if (isObject) found.push(object)
    start = text.indexOf("{", isObject ? end : start + 1)
  }
  return found
}

/** Returns the one JSON value of a text; the text itself if it is JSON, or contains none or several. */
export const embeddedJson = (text: string): string => {
  const trimmed = text.trim()
  if (parses(trimmed)) return trimmed
  const fenced = [...trimmed.matchAll(fence)].map(([, inner]) => inner!.trim()).filter(parses)
  if (fenced.length > 0) return fenced.length === 1 ? fenced[0]! : trimmed
  const objects = objectsIn(trimmed)
  return objects.length === 1 ? objects[0]! : trimmed
}
