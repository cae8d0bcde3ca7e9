/**
 * Embedded object: finds the one JSON object of a text, alone, in a Markdown fence, or with prose around it.
 *
 * Finds only its start and its end; it does not parse.
 */

import * as JsonText from "@recourse/core/JsonText"

/** A fence with a JSON object in it. `[^`]` keeps the search in proportion to the text. */
const fence = /```[^\n`]*\n([^`]*)```/g

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
    const whole = JsonText.objectsIn(trimmed)
    if (whole.length > 1) return undefined
    // An object that parses within one that does not is only a part of the intended one.
    if (whole.length === 1 && (start > 0 || trimmed.startsWith(whole[0]!))) return whole[0]
  }
  const end = trimmed.lastIndexOf("}")
  return JsonText.objectEnd(trimmed, start) === undefined ? trimmed.slice(start) : trimmed.slice(start, end + 1)
}
