/** Output text: reads an agent's output from a model's final text. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { CodecTransformer } from "effect/ai/LanguageModel"
import * as AiTool from "effect/ai/Tool"
import type { Issue } from "../../ToolError.ts"
import { embeddedJson } from "../foundation/json/embeddedJson.ts"
import { decoderOfJson } from "../foundation/json/jsonForm.ts"
import { sentSchema } from "../foundation/schema/sentSchema.ts"
import { describe, fromIssue } from "../foundation/schema/schemaIssues.ts"

export interface OutputReader {
  /** The model's instructions for the form of its answer; absent for plain text. */
  readonly instructions: string | undefined
  readonly isText: boolean
  /** True if each text is a valid output. */
  readonly isPlain: boolean
  readonly schema: Schema.Top
  /** The schema that providers enforce: of an object, because they support no others. */
  readonly format: Schema.Top
  /** Reads an answer; `transformer` is how the provider changes schemas, whose answers fit the changed ones. */
  readonly read: (
    text: string,
    transformer?: CodecTransformer
  ) => Effect.Effect<Result.Result<unknown, ReadonlyArray<Issue>>, never, unknown>
}

type Reading = Effect.Effect<Result.Result<unknown, ReadonlyArray<Issue>>, never, unknown>

/** The key of an answer that is no object by itself. */
const key = "answer"

interface Wrapped {
  readonly [key]: unknown
}

const isWrapped = (value: unknown): value is Wrapped =>
  Predicate.hasProperty(value, key) && Object.keys(value).length === 1

const syntax: ReadonlyArray<Issue> = [{ path: [], expected: "expected only JSON", problem: "syntax" }]

const parse = (text: string): Result.Result<unknown, ReadonlyArray<Issue>> =>
  Result.try({ try: () => AiTool.unsafeSecureJsonParse(text), catch: () => syntax })

/** True if a schema's values are written as text: no JSON around them. */
export const isText = (schema: Schema.Top): boolean => SchemaAST.isString(Schema.toEncoded(schema).ast)

const decoder = (schema: Schema.Top): (value: unknown) => Reading => {
  const decode = decoderOfJson(schema as Schema.Decoder<unknown, unknown>)
  return (value) =>
    Effect.map(
      Effect.result(decode(value, { errors: "all", reportInput: true })),
      Result.mapError((error) => fromIssue(error.issue, { messages: true }))
    )
}

/** The second decoding if the first fails, and the first one's issues if both fail. */
const orElse = (first: Reading, second: () => Reading): Reading =>
  Effect.flatMap(first, (read) =>
    Result.isSuccess(read)
      ? Effect.succeed(read)
      : Effect.map(second(), (other) => Result.isSuccess(other) ? other : read))

export const outputReader = (schema: Schema.Top): OutputReader => {
  const text = isText(schema)
  const isObject = SchemaAST.isObjects(Schema.toEncoded(schema).ast)
  const format = isObject ? schema : Schema.Struct({ [key]: schema })
  const decode = decoder(schema)
  const plain = (value: unknown): Reading =>
    isWrapped(value)
      ? isObject ? orElse(decode(value), () => decode(value[key])) : orElse(decode(value[key]), () => decode(value))
      : decode(value)
  /** Decoders of the changed schemas: a provider changes a schema in the same way each time. */
  const decoders = new WeakMap<CodecTransformer, (value: unknown) => Reading>()
  const transformed = (value: unknown, transformer: CodecTransformer): Reading =>
    Effect.suspend(() => {
      const decode = decoders.get(transformer) ?? decoder(transformer(format as never).codec as unknown as Schema.Top)
      decoders.set(transformer, decode)
      const read = decode(value)
      return isObject ? read : Effect.map(read, Result.map((value) => (value as Wrapped)[key]))
    }).pipe(Effect.catchDefect(() => Effect.succeed(Result.fail([]))))
  const read = (value: unknown, transformer: CodecTransformer | undefined): Reading =>
    transformer === undefined ? plain(value) : orElse(plain(value), () => transformed(value, transformer))
  return {
    isText: text,
    isPlain: schema === Schema.String,
    schema,
    format,
    instructions: text
      ? undefined
      : `When you are done, answer with JSON and nothing else, matching this JSON schema: ${
        JSON.stringify(sentSchema(schema))
      }`,
    read: (answer, transformer) =>
      text
        ? decode(answer)
        : Result.match(parse(embeddedJson(answer)), {
          onFailure: (issues) => Effect.succeed(Result.fail(issues)),
          onSuccess: (value) => read(value, transformer)
        })
  }
}

/** The answer does not fit, and the model has been asked for another one. */
export const corrected = Symbol.for("@recourse/core/loop/corrected")

/** The model's message when its answer does not fit. */
export const correction = (issues: ReadonlyArray<Issue>): string =>
  `Your answer does not fit: ${describe(issues)}. Answer again.`
