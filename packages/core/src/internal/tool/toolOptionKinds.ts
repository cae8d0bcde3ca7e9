/** The options of `Tool.make`, `Tool.fromJsonSchema` and `Tool.fromStandardSchema` for the run-time check, and the sentences about executors that return no Effect. */
import * as Effect from "effect/Effect"
import { ConfigurationError } from "../../ConfigurationError.ts"
import {
  aBoolean,
  aDuration,
  aFunction,
  anArray,
  anObject,
  aNumber,
  aString,
  aTimeLimit,
  checkOptions,
  either,
  type Kind,
  listOf,
  oneOf
} from "../foundation/options/optionCheck.ts"
import { otherToolNames } from "../foundation/options/foreignOptionNames.ts"
import type { IdempotencyOptions } from "../idempotency/idempotencyOptions.ts"
import { checkName } from "../foundation/options/checkName.ts"
import { anObjectSchema, aSchema } from "./from/schemaKind.ts"

const functionKinds: Readonly<Record<string, string>> = {
  "[object AsyncFunction]":
    "is an async function. It has to return an Effect: Effect.tryPromise(() => ...), or Effect.gen in its place",
  "[object GeneratorFunction]": "is a generator function. Wrap it: () => Effect.gen(function*() { ... })",
  "[object AsyncGeneratorFunction]": "is an async generator function. It has to return an Effect or a Stream"
}

const tagOf = (value: unknown): string => Object.prototype.toString.call(value)

const anEffect: Kind = { is: Effect.isEffect, called: "an Effect" }

/** A function that returns an Effect, by its kind. */
const anExecutor: Kind = {
  is: (value) => typeof value === "function" && !Object.hasOwn(functionKinds, tagOf(value)),
  called: "a function that returns an Effect",
  about: (value) => functionKinds[tagOf(value)]
}

/** The kinds of the options that all these forms have. */
export const baseKinds = {
  description: aString,
  success: aSchema,
  effects: oneOf("read", "idempotent", "write"),
  timeout: aDuration,
  resultLimit: aNumber,
  toModelOutput: aFunction,
  needsApproval: either(aBoolean, aFunction, anEffect),
  mayRequestApproval: aBoolean,
  trust: oneOf("trusted", "untrusted"),
  failure: aSchema,
  allowIdenticalCalls: aBoolean,
  coalesce: aBoolean,
  execute: anExecutor,
  idempotency: either(aBoolean, anObject),
  transaction: aBoolean,
  compensate: aFunction,
  status: aFunction
} as const

const idempotencyKinds: Readonly<Record<keyof IdempotencyOptions<never, unknown, string>, Kind>> = {
  key: aFunction,
  namespace: aString,
  timeToLive: aTimeLimit,
  deduplicated: aBoolean,
  rejected: listOf(aString),
  reconcile: aFunction
}

const onUnknownKeys = oneOf("refuse", "drop")

/** The kinds of the options of `Tool.make`. */
export const makeKinds = { ...baseKinds, onUnknownKeys, parameters: anObjectSchema } as const

/** The kinds of the options of `Tool.fromJsonSchema`. */
export const jsonSchemaKinds = {
  ...baseKinds,
  onUnknownKeys,
  parameters: anObject,
  unchecked: either(anArray, oneOf("any")),
  patterns: oneOf("apply", "ignore"),
  draft: oneOf("draft-07", "draft-2020-12")
} as const

/** Throws `ConfigurationError` for options that the compiler refuses. */
export const checkToolOptions = (
  form: "make" | "fromJsonSchema" | "fromStandardSchema",
  name: unknown,
  options: unknown,
  kinds: Readonly<Record<string, Kind>>
): void => {
  checkName(`Tool.${form}`, "tool", "weather", name)
  const subject = `Tool "${name}"`
  checkOptions(subject, options, { kinds, otherNames: otherToolNames })
  const { execute, idempotency } = options as { readonly execute?: unknown; readonly idempotency?: unknown }
  if (anObject.is(idempotency)) {
    checkOptions(subject, idempotency, { kinds: idempotencyKinds, otherNames: {} }, "idempotency.")
  }
  if (execute === undefined) {
    throw new ConfigurationError({ subject, problem: "it needs execute: the function that runs it" })
  }
}
