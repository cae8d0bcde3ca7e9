/**
 * Fields of a request's body in a table: the server's treatment of each of them. No field is dropped without an entry.
 */
import * as Effect from "effect/Effect"
import { BadRequest } from "../http/errors.ts"

/**
 * The server's treatment of a field. `null` is the same as an absent field.
 *
 * - `used`: the route's schema reads it. `fields` and `items` are the tables of an object and of the objects in a list.
 * - `refused`: 400, unless its value equals the server's behaviour.
 * - `inert`: accepted without an effect, for the reason that the table names.
 *
 * @category models
 * @since 0.2.0
 */
export type Field =
  | { readonly use: "used"; readonly fields?: Fields | undefined; readonly items?: Fields | undefined }
  | { readonly use: "refused"; readonly reason: string; readonly unless?: ((value: unknown) => boolean) | undefined }
  | { readonly use: "inert"; readonly reason: string }

/**
 * The fields of an object, by name.
 *
 * @category models
 * @since 0.2.0
 */
export type Fields = Readonly<Record<string, Field>>

export const used: Field = { use: "used" }

export const refused = (reason: string, unless?: (value: unknown) => boolean): Field => ({
  use: "refused",
  reason,
  unless
})

export const inert = (reason: string): Field => ({ use: "inert", reason })

/** Whether a value is an empty list, object or text. */
export const isEmpty = (value: unknown): boolean =>
  value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0)

/** True if a value is one of these. */
export const isOneOf = (...values: ReadonlyArray<unknown>) => (value: unknown): boolean => values.includes(value)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const found = (table: Fields, value: unknown, path: string): BadRequest | undefined => {
  if (!isObject(value)) return undefined
  for (const [name, item] of Object.entries(value)) {
    if (item === null || item === undefined) continue
    const param = path === "" ? name : `${path}.${name}`
    const field = Object.hasOwn(table, name) ? table[name] : undefined
    const problem = field === undefined
      ? "This server does not know the field"
      : field.use === "refused" && field.unless?.(item) !== true
      ? field.reason
      : undefined
    if (problem !== undefined) return new BadRequest({ problem: `${param}: ${problem}`, param })
    const within = field?.use === "used" ? foundWithin(field, item, param) : undefined
    if (within !== undefined) return within
  }
  return undefined
}

const foundWithin = (
  { fields, items }: Extract<Field, { readonly use: "used" }>,
  value: unknown,
  path: string
): BadRequest | undefined => {
  if (fields !== undefined) return found(fields, value, path)
  if (items === undefined || !Array.isArray(value)) return undefined
  for (const [index, item] of value.entries()) {
    const refusal = found(items, item, `${path}[${index}]`)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** Fails with `BadRequest` for the first field that the table refuses, or does not have. `path`: of the value in the body. */
export const checkFields = (table: Fields, body: unknown, path = ""): Effect.Effect<void, BadRequest> =>
  Effect.suspend(() => {
    const refusal = found(table, body, path)
    return refusal === undefined ? Effect.void : Effect.fail(refusal)
  })
