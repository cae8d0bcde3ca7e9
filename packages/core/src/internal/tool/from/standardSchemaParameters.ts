/** Parameters from a Standard Schema: the schema that checks arguments, and the JSON Schema that models are sent. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import type * as SchemaIssue from "effect/SchemaIssue"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { noteInput } from "../../foundation/schema/standardInputs.ts"
import { fromStandardIssues } from "./standardSchemaIssues.ts"

/**
 * The schema of arguments that a Standard Schema describes: its output, and its input as the model writes it.
 *
 * @category models
 * @since 0.2.0
 */
export type StandardParameters<S extends StandardSchemaV1> = Schema.Codec<
  StandardSchemaV1.InferOutput<S>,
  StandardSchemaV1.InferInput<S>
>

type Validated = StandardSchemaV1.Result<unknown>

const failed = (error: unknown): string => error instanceof Error ? error.message : String(error)

/**
 * Makes an Effect Schema of a Standard Schema. The validator runs once for each decoding. An exception or a rejection
 * of it is a defect, and so is a promise that is pending after `timeout`.
 */
export const schemaFromStandard = (
  subject: string,
  schema: StandardSchemaV1,
  timeout: Duration.Input | undefined
): Schema.Codec<unknown> => {
  const awaitResult = (promise: Promise<Validated>): Effect.Effect<Validated> => {
    const awaited = Effect.promise(() => promise)
    return timeout === undefined ? awaited : Effect.timeoutOrElse(awaited, {
      duration: timeout,
      orElse: () => Effect.die(new Error(`${subject}: its schema has not validated the arguments within the timeout`))
    })
  }
  const check = (input: unknown, result: Validated): Effect.Effect<unknown, SchemaIssue.Issue> => {
    if (result.issues) return Effect.fail(fromStandardIssues(result.issues, input))
    noteInput(schema, input, result.value)
    return Effect.succeed(result.value)
  }
  return Schema.Unknown.pipe(
    Schema.decodeTo(Schema.Unknown, {
      decode: SchemaGetter.transformEffect((input: unknown) =>
        Effect.suspend(() => {
          const result = schema["~standard"].validate(input)
          return result instanceof Promise
            ? Effect.flatMap(awaitResult(result), (settled) => check(input, settled))
            : check(input, result)
        })
      ),
      encode: SchemaGetter.forbidden(() => "expected arguments that JSON can hold")
    })
  )
}

const jsonSchemaOf = (subject: string, schema: StandardSchemaV1): JsonSchema.JsonSchema => {
  const { jsonSchema, vendor } = schema["~standard"] as
    & StandardSchemaV1.Props
    & Partial<StandardJSONSchemaV1.Props>
  if (jsonSchema === undefined) {
    throw new ConfigurationError({
      subject,
      problem: `its schema of ${vendor} does not convert itself to the JSON Schema that models are sent. ` +
        "Pass that as `jsonSchema`. Zod converts itself since 4.2, arktype since 2.1.28, and valibot by " +
        "toStandardJsonSchema of @valibot/to-json-schema"
    })
  }
  try {
    return jsonSchema.input({ target: "draft-2020-12" })
  } catch (error) {
    throw new ConfigurationError({
      subject,
      problem: `its schema of ${vendor} has no JSON Schema: ${failed(error)}. Pass one as \`jsonSchema\``
    })
  }
}

/** Returns the JSON Schema that models are sent. Throws `ConfigurationError` if there is none, or none of an object. */
export const sentJsonSchema = (
  subject: string,
  schema: StandardSchemaV1,
  given: JsonSchema.JsonSchema | undefined
): JsonSchema.JsonSchema => {
  const jsonSchema = given ?? jsonSchemaOf(subject, schema)
  const { type } = jsonSchema
  if (type === undefined || type === "object") return jsonSchema
  throw new ConfigurationError({
    subject,
    problem: `its arguments are an object, and its JSON Schema has the type ${JSON.stringify(type)}`
  })
}
