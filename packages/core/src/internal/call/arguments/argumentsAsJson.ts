/**
 * Arguments as JSON, for policies, approvals and idempotency keys. A model's arguments are JSON. Arguments of a call
 * made by hand may contain a `Map`, a `bigint` or bytes, which hashes would not distinguish.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { InvalidArgs } from "../../../ToolError.ts"
import { toJson } from "../../foundation/json/jsonValue.ts"
import { fromIssue } from "../../foundation/schema/schemaIssues.ts"

type JsonObject = Record<string, Schema.Json>

const objectOf = (value: unknown): Option.Option<JsonObject> =>
  Option.filter(
    toJson(value),
    (json): json is JsonObject => typeof json === "object" && json !== null && !Array.isArray(json)
  ) as Option.Option<JsonObject>

const notJson: InvalidArgs["issues"] = [
  { path: [], expected: "expected arguments that JSON can hold", problem: "invalid" }
]

/** Returns the JSON of arguments: unchanged, or, if they are no JSON, encoded by the tool's schema. */
export const asJson = <R>(
  parameters: Schema.Decoder<unknown, R>,
  raw: Readonly<Record<string, unknown>>,
  params: unknown
): Effect.Effect<JsonObject, InvalidArgs["issues"], R> => {
  const json = objectOf(raw)
  if (Option.isSome(json)) return Effect.succeed(json.value)
  const encoded = Schema.encodeUnknownEffect(Schema.toCodecJson(parameters as Schema.Top))(params) as Effect.Effect<
    unknown,
    Schema.SchemaError,
    R
  >
  return Effect.flatMap(
    Effect.mapError(encoded, (error) => fromIssue(error.issue)),
    (value) => Option.match(objectOf(value), { onNone: () => Effect.fail(notJson), onSome: Effect.succeed })
  )
}
