/**
 * Plain shapes: recognises the answers and the pieces of a stream that nearly all servers send, without the cost of a schema for each.
 *
 * Invariant: the schemas of `wire.ts` decode a plain shape to an equal value, but for fields at its top that they do not name. Any other
 * shape is left to them: they decide, and they name the place that is wrong.
 */
import type * as Wire from "./wire.ts"

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isText = (value: unknown): boolean => value === undefined || value === null || typeof value === "string"

const isIndex = (value: unknown): boolean => isText(value) || typeof value === "number"

const isNone = (value: unknown): boolean => value === undefined || value === null

const isFunction = (value: unknown): boolean => isNone(value) || (isObject(value) && isText(value["name"]))

const isCall = (value: unknown): boolean =>
  isObject(value) && isIndex(value["index"]) && isIndex(value["id"]) && isFunction(value["function"])

const isMessage = (value: unknown): boolean => {
  if (!isObject(value)) return false
  const calls = value["tool_calls"]
  return isText(value["content"]) && isFunction(value["function_call"]) &&
    (isNone(calls) || (Array.isArray(calls) && calls.every(isCall)))
}

const isChoice = (value: unknown): value is Fields => isObject(value) && isIndex(value["index"])

const isPart = (value: unknown): boolean => isNone(value) || isMessage(value)

/** True if the JSON of a whole answer is plain. */
export const isCompletion = (json: unknown): json is Wire.Completion => {
  if (!isObject(json)) return false
  const { choices } = json
  return Array.isArray(choices) && choices.length > 0 &&
    choices.every((choice) => isChoice(choice) && isMessage(choice["message"]))
}

/** True if the JSON of a piece of a stream is plain. */
export const isChunk = (json: unknown): json is Wire.Chunk => {
  if (!isObject(json)) return false
  const { choices } = json
  return Array.isArray(choices) &&
    choices.every((choice) => isChoice(choice) && isPart(choice["delta"]) && isPart(choice["message"]))
}
