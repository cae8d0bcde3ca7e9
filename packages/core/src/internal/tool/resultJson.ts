/** Results as JSON, for transcripts, events and snapshots. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Issue } from "../../ToolError.ts"
import { toJson } from "../foundation/json/jsonValue.ts"
import { fromIssue } from "../foundation/schema/schemaIssues.ts"
import { valueOf } from "../foundation/effect/sequence.ts"

/**
 * Encodes a result as JSON; fails with the issues of a value that does not fit the schema, or that JSON cannot
 * represent.
 */
export type ResultEncoder = (value: unknown) => Effect.Effect<Schema.Json, ReadonlyArray<Issue>, unknown>

const beyondJson: ReadonlyArray<Issue> = [{
  path: [],
  expected: "expected a value that JSON can hold",
  problem: "invalid"
}]

const orBeyondJson = (encoded: unknown): Effect.Effect<Schema.Json, ReadonlyArray<Issue>> =>
  Option.match(encoded === undefined ? Option.some(null) : toJson(encoded), {
    onNone: () => Effect.fail(beyondJson),
    onSome: Effect.succeed
  })

const primitives: ReadonlySet<string> = new Set(["String", "Number", "Boolean"])

/** True if a schema's encoded form is a primitive, which is JSON itself, unless it is a number without a JSON form. */
const isPrimitive = (schema: Schema.Top): boolean => primitives.has(Schema.toEncoded(schema).ast._tag)

const isJsonPrimitive = (value: unknown): value is string | number | boolean =>
  typeof value !== "number" || Number.isFinite(value)

/**
 * Encodes by the schema's JSON form, which represents a `Date`, an `Option`, a bigint, bytes, `NaN` and `undefined`.
 * Without such a form (`Schema.Unknown`, classes of others), the encoded value is reduced to its JSON text.
 */
export const resultEncoder = (success: Schema.Top): ResultEncoder => {
  const encodeAsJson = Schema.encodeUnknownEffect(Schema.toCodecJson(success))
  const encode = Schema.encodeUnknownEffect(success)
  const encodePlainly = (value: unknown) =>
    Effect.catchEager(encode(value), ({ issue }) => Effect.fail(fromIssue(issue)))
  const viaJson: ResultEncoder = (value) =>
    Effect.flatMapEager(Effect.catchEager(encodeAsJson(value), () => encodePlainly(value)), orBeyondJson)
  if (!isPrimitive(success)) return viaJson
  return (value) => {
    const encoded = encode(value)
    const known = valueOf(encoded)
    return known !== undefined && isJsonPrimitive(known.value) ? Effect.succeed(known.value) : viaJson(value)
  }
}
