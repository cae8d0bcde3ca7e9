/** Arguments of a call: read as one complete JSON object, decoded by the schema of the tool, and encoded as JSON. No value is repaired or defaulted. */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as AiTool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Option from "effect/Option"
import type { InvalidArgs, Issue } from "../../../ToolError.ts"
import { maxDepth, shapeOf, textShapeOf } from "../../foundation/json/jsonShape.ts"
import { objectMistake } from "../../foundation/json/jsonSyntax.ts"
import { lossyNumbers, roundedNumbers } from "../../foundation/json/lossyNumbers.ts"
import { decoderOfJson } from "../../foundation/json/jsonForm.ts"
import * as Exit from "effect/Exit"
import { toJson } from "../../foundation/json/jsonValue.ts"
import { fromIssue } from "../../foundation/schema/schemaIssues.ts"

/** Values above which only the first issue is looked for. */
const large = 10_000

/** The object that raw arguments hold. */
export interface RawArguments {
  readonly object: Record<string, unknown>
  /** True if a search for all issues would take long. */
  readonly isLarge: boolean
}

type Read<A> = Result.Result<A, ReadonlyArray<Issue>>

const wrong = (expected: string, problem: Issue["problem"] = "syntax"): Read<never> =>
  Result.fail([{ path: [], expected, problem }])

const parse = (text: string): unknown => {
  try {
    return AiTool.unsafeSecureJsonParse(text)
  } catch {
    return undefined
  }
}

const prototypeKey = "expected no key \"__proto__\", and no \"prototype\" within \"constructor\""

/** Message for a number whose digits do not survive parsing: another number would reach the tool. */
const fewerDigits = "expected a number that keeps all its digits: this one has too many. Send it as a string"
/** Limit of listed numbers. */
const maxLossy = 10

const tooDeep = wrong(`expected at most ${maxDepth} arrays and objects within each other`, "invalid")

const readText = (text: string): Read<RawArguments> => {
  const { colons, depth } = textShapeOf(text)
  if (depth > maxDepth) return tooDeep
  const value = parse(text)
  if (!Predicate.isObject(value)) return wrong(objectMistake(text) ?? prototypeKey)
  const { keys, size } = shapeOf(value, maxDepth)
  // A duplicate key is once in the value: the intended one is ambiguous.
  const mistake = colons === keys ? undefined : objectMistake(text)
  if (mistake !== undefined) return wrong(mistake)
  return exact(value as Record<string, unknown>, size > large, lossyNumbers(text))
}

const exact = (
  object: Record<string, unknown>,
  isLarge: boolean,
  lossy: ReturnType<typeof lossyNumbers>
): Read<RawArguments> =>
  lossy.length === 0
    ? Result.succeed({ object, isLarge })
    : Result.fail(lossy.slice(0, maxLossy).map((path) => ({ path, expected: fewerDigits, problem: "invalid" })))

/** The JSON object that raw arguments hold: already an object, or the text of one with each key once. */
export const readSized = (raw: unknown): Read<RawArguments> => {
  if (typeof raw === "string") return readText(raw)
  if (!Predicate.isObject(raw)) return wrong("expected one JSON object")
  const { depth, hasPrototypeKey, hasRounded, size } = shapeOf(raw, maxDepth)
  if (depth > maxDepth) return tooDeep
  return hasPrototypeKey
    ? wrong(prototypeKey)
    : exact(raw as Record<string, unknown>, size > large, hasRounded ? roundedNumbers(raw) : [])
}

/** The JSON object that raw arguments hold. */
export const read = (raw: unknown): Read<Record<string, unknown>> => Result.map(readSized(raw), ({ object }) => object)

/** Raw arguments as a value, also if the model's text was kept. A text that cannot be read stays one. */
export const valueOf = (raw: unknown): unknown => typeof raw === "string" ? Result.getOrElse(read(raw), () => raw) : raw

const textOf = (raw: unknown, replacer?: (key: string, value: unknown) => unknown): string | undefined => {
  try {
    return JSON.stringify(raw, replacer)
  } catch {
    return undefined
  }
}

/** Raw arguments as text, for people and fixers. Those of a call made by hand may be no JSON. */
export const toText = (raw: unknown): string =>
  typeof raw === "string"
    ? raw
    : textOf(raw) ?? textOf(raw, (_, value) => typeof value === "bigint" ? String(value) : value) ?? String(raw)

const noArguments = Effect.succeed({} as never)

/** Returns the decoder of a tool's arguments. It looks for all issues only if there is one: decoding up to the first issue takes half as long. */
export const argumentsDecoder = <Params, R>(
  parameters: Schema.Decoder<Params, R>,
  onExcessProperty: "error" | "ignore"
): (args: RawArguments) => Effect.Effect<Params, Schema.SchemaError, R> => {
  // The schema of no parameters has no excess properties: it refuses each field, also if unknown ones are dropped.
  if (onExcessProperty === "ignore" && (parameters as unknown) === AiTool.EmptyParams) return () => noArguments
  const decode = Schema.decodeUnknownEffect(parameters)
  const decodeJson = decoderOfJson(parameters)
  return ({ isLarge, object }) => {
    // Options of any kind take the slower of effect's two ways through a struct.
    const decoded = onExcessProperty === "ignore" ? decode(object) : decode(object, { onExcessProperty })
    return Exit.isExit(decoded) && Exit.isSuccess(decoded)
      ? decoded
      : decodeJson(object, { errors: isLarge ? "first" : "all", onExcessProperty, reportInput: true })
  }
}

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
