/** Decodes a call's raw arguments: one complete JSON object, or a list of issues. No value is repaired or defaulted. */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as AiTool from "effect/ai/Tool"
import type { Issue } from "../../../ToolError.ts"
import { maxDepth, shapeOf, textShapeOf } from "../../foundation/json/jsonShape.ts"
import { objectMistake } from "../../foundation/json/jsonSyntax.ts"
import { lossyNumbers, roundedNumbers } from "../../foundation/json/lossyNumbers.ts"

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
