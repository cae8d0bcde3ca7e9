/**
 * JSON texts that a model writes piece by piece, for providers: the arguments of a call, and the completeness of a
 * text.
 */
import * as AiTool from "effect/ai/Tool"
import { lossyNumbers } from "./internal/foundation/json/lossyNumbers.ts"
import { jsonPart } from "./internal/foundation/json/jsonPart.ts"
import { maxDepth, shapeOf, textShapeOf } from "./internal/foundation/json/jsonShape.ts"

/**
 * Returns the value of a JSON text, and `undefined` if the value would lose something: no JSON, a duplicate key, a
 * number with more digits than a double has, `__proto__`, or more than 200 levels.
 *
 * **Example** (A value that a double does not hold)
 *
 * ```ts
 * import { JsonText } from "@recourse/core"
 *
 * JsonText.parseLossless(`[0.5, ""]`) // => [0.5, ""]
 * JsonText.parseLossless("[9007199254740993]") // => undefined
 * ```
 *
 * @category decoding
 * @since 0.2.0
 */
export const parseLossless = (text: string): unknown => {
  const { colons, depth } = textShapeOf(text)
  if (depth > maxDepth) return undefined
  try {
    const value = AiTool.unsafeSecureJsonParse(text)
    return shapeOf(value, maxDepth).keys !== colons || lossyNumbers(text).length > 0 ? undefined : value
  } catch {
    return undefined
  }
}

/** True for the spellings of no arguments: an empty list is the empty object of PHP. */
const isNone = (text: string, value: unknown): boolean =>
  text.trim() === "" || value === null || value === "" || (Array.isArray(value) && value.length === 0)

/** Returns the object of a text that servers have encoded twice; arguments are never a string. */
const objectIn = (text: string): unknown => /^\s*\{/.test(text) ? parseLossless(text) : undefined

/**
 * Returns the value of a call's arguments, or the text if it is a string or has no value without a loss: see
 * {@link parseLossless}. The tool's own check names it. Servers spell a call without arguments as blank text, `null`,
 * `""` or `[]`: `{}`. An object that is encoded twice is that object.
 *
 * ```ts
 * import { JsonText } from "@recourse/core"
 *
 * JsonText.argumentsOf(`{"a":1}`) // => { a: 1 }
 * JsonText.argumentsOf(`"{\\"a\\":1}"`) // => { a: 1 }
 * JsonText.argumentsOf(`{"a":1,"a":2}`) // => `{"a":1,"a":2}`
 * JsonText.argumentsOf("") // => {}
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const argumentsOf = (text: string): unknown => {
  const value = parseLossless(text)
  if (isNone(text, value)) return {}
  return (typeof value === "string" ? objectIn(value) : value) ?? text
}

/** Returns the text of the value at a path; `undefined` if the whole text is no JSON. */
const partAt = (text: string, path: ReadonlyArray<string | number>): string | undefined => {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  return jsonPart(text, path)
}

/**
 * The arguments of a call within a larger JSON text, such as the body of a request: as {@link argumentsOf} the text at the path.
 * Returns `undefined` if the text is no JSON or has no such place.
 *
 * ```ts
 * import { JsonText } from "@recourse/core"
 *
 * JsonText.argumentsAt(`{"params":{"arguments":{"a":1}}}`, ["params", "arguments"]) // => { a: 1 }
 * JsonText.argumentsAt(`[{"a":0.12345678901234567891}]`, [0]) // => `{"a":0.12345678901234567891}`
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const argumentsAt = (text: string, path: ReadonlyArray<string | number>): unknown => {
  const part = partAt(text, path)
  return part === undefined ? undefined : argumentsOf(part)
}

/** True for a whole number: a fraction may be rounded and still be the same amount. */
const isWhole = (literal: string): boolean => /^-?\d+$/.test(literal)

const replaced = (value: unknown, [key, ...rest]: ReadonlyArray<string | number>, literal: string): unknown => {
  if (key === undefined) return literal
  const parent = value as Record<string | number, unknown>
  parent[key] = replaced(parent[key], rest, literal)
  return parent
}

/**
 * Parses the value at a path of a larger JSON text. A whole number whose digits a double does not hold, such as an id of 19 digits, becomes a string
 * with these digits. Returns `undefined` if the text is no JSON or has no such place.
 *
 * **Example** (An id of 19 digits)
 *
 * ```ts
 * import { JsonText } from "@recourse/core"
 *
 * JsonText.exactAt(`{"result":{"id":2512292042121000001,"total":1.5}}`, ["result"]) // => { id: "2512292042121000001", total: 1.5 }
 * ```
 *
 * @category decoding
 * @since 0.2.0
 */
export const exactAt = (text: string, path: ReadonlyArray<string | number>): unknown => {
  const part = partAt(text, path)
  if (part === undefined) return undefined
  return lossyNumbers(part).reduce((value, place) => {
    const literal = jsonPart(part, place)
    return literal !== undefined && isWhole(literal) ? replaced(value, place, literal) : value
  }, JSON.parse(part) as unknown)
}

/**
 * Progress of a text: `open` within an array, an object or a string, `ended` behind one, `bare` otherwise.
 *
 * @category models
 * @since 0.2.0
 */
export type Progress = "bare" | "open" | "ended"

/**
 * Follows a text as it grows; the work is that of the new piece.
 *
 * @category models
 * @since 0.2.0
 */
export interface Follower {
  readonly push: (piece: string) => void
  readonly progress: () => Progress
}

/**
 * Follows a text from its beginning.
 *
 * @category constructors
 * @since 0.2.0
 */
export const follow = (): Follower => {
  let depth = 0
  let inString = false
  let escaped = false
  let ended = false
  return {
    push: (piece) => {
      for (let i = 0; i < piece.length; i++) {
        const code = piece.charCodeAt(i)
        if (inString) {
          if (escaped) escaped = false
          else if (code === 92) escaped = true
          else if (code === 34) {
            inString = false
            ended ||= depth === 0
          }
        } else if (code === 34) inString = true
        else if (code === 123 || code === 91) depth++
        else if (code === 125 || code === 93) {
          depth--
          ended ||= depth <= 0
        }
      }
    },
    progress: () => ended ? "ended" : depth > 0 || inString ? "open" : "bare"
  }
}

/**
 * True if a text is empty, or starts a JSON array or object and breaks off before its end.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isCutOff = (text: string): boolean => {
  const started = text.trimStart()
  if (started === "") return true
  if (!/^(?:\[|\{\s*(?:"|$))/.test(started)) return false
  const follower = follow()
  follower.push(started)
  return follower.progress() === "open"
}

/** @internal Searches for the objects in a text, for packages of Recourse. */
export { objectEnd, objectsIn } from "./internal/foundation/json/embeddedJson.ts"
