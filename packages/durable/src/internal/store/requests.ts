/** Requests to durable runs, checked before a store: every store refuses the same, and no row is written. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as Hex from "effect/encoding/Hex"
import { InvalidInput } from "@recourse/core/AgentError"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import { isStorable } from "@recourse/core/Runs"

/** Prefix of the names of signals that are messages to a run. */
export const inboxPrefix = "recourse/message/"

/** Number of characters in a column of ids. */
const most = 255

const isLong = (text: string): boolean => text.length > most && [...text].length > most

/** True if a text can be a stored id. */
const isId = (text: unknown): boolean => isStorable(text) && text !== "" && !isLong(text)

/** An id as a column has room for it: one that is too long, or that a database does not store, by its digest. */
export const fitted = (id: string): Effect.Effect<string> =>
  isId(id) ? Effect.succeed(id) : Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Effect.map(
      // JSON distinguishes halves of surrogate pairs.
      Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(id)))),
      (digest) => `${id.slice(0, 150).replaceAll(/\0|\p{Cs}/gu, "_")}~${Hex.encode(new Uint8Array(digest))}`
    ))

const asItIs = "without NUL and without half of a surrogate pair"
const atMost = `text of at most ${most} characters, ${asItIs}`
const anId = `expected text of 1 to ${most} characters, ${asItIs}: use the hash of a longer text`
const anOwner = `expected ${atMost}`
const aDelay = "expected a duration of 0 or more that ends, such as \"5 minutes\": leave it out to begin at once"
const aFrom = "expected the number of an event, a whole number from 0: leave it out for all"

/** A check: its path, its result, and the expectation. */
type Looked = readonly [path: ReadonlyArray<string>, isRight: boolean, expected: string]

const refusal = (operation: string, agent: string, looked: ReadonlyArray<Looked>): InvalidInput => {
  const issues = looked.flatMap(([path, isRight, expected]) =>
    isRight ? [] : [{ path, expected, problem: "invalid" as const }]
  )
  return new InvalidInput({ agent, operation, issues })
}

const refuse = (
  operation: string,
  agent: string,
  looked: ReadonlyArray<Looked>
): Effect.Effect<void, InvalidInput> =>
  looked.every(([, isRight]) => isRight) ? Effect.void : Effect.fail(refusal(operation, agent, looked))

/** The longest time that a date has room for. */
const longest = 8.64e15

/** A duration in milliseconds, if it is one, and of 0 or more. */
const millisOf = (input: Duration.Input): number | undefined => {
  if (Number.isNaN(input) || (typeof input === "object" && input !== null && Object.keys(input).length === 0)) {
    return Duration.isDuration(input) ? Duration.toMillis(input) : undefined
  }
  const millis = Option.map(Duration.fromInput(input), Duration.toMillis)
  return Option.isSome(millis) && millis.value >= 0 ? millis.value : undefined
}

/** The delay of a run in milliseconds; `NaN` for an invalid one. */
const delayOf = (delay: Duration.Input | undefined): number | undefined => {
  const millis = delay === undefined ? undefined : millisOf(delay) ?? Number.NaN
  return millis === undefined || millis <= longest ? millis : Number.NaN
}

/** Checks the request to start a run. Returns its delay. */
export const started = (
  agent: string,
  { delay, owner, runId }: {
    readonly runId: string
    readonly owner: string | undefined
    readonly delay: Duration.Input | undefined
  }
): Effect.Effect<number | undefined, InvalidInput> => {
  const millis = delayOf(delay)
  const looked = refuse("start", agent, [
    [["runId"], isId(runId), anId],
    [["owner"], owner === undefined || (isStorable(owner) && !isLong(owner)), anOwner],
    [["delay"], !Number.isNaN(millis), aDelay]
  ])
  return Effect.as(looked, millis)
}

/** True for a possible number of an event. */
export const isNumber = (from: unknown): boolean => Number.isSafeInteger(from) && (from as number) >= 0

/** Events are read from a number that none can have. */
export const noNumber = (agent: string): Effect.Effect<never, InvalidInput> =>
  Effect.fail(refusal("events", agent, [[["from"], false, aFrom]]))

const isJson = Schema.is(Schema.Json)

/** Looks at the name and the value of a signal. */
export const signalled = (agent: string, name: string, value: unknown): Effect.Effect<void, InvalidInput> =>
  refuse("send", agent, [
    [["value"], isJson(value), "expected a value that JSON holds"],
    [["name"], isId(name), anId],
    [["name"], !String(name).startsWith(inboxPrefix), `expected a name that does not begin with ${inboxPrefix}`]
  ])

const configured = (subject: string, isRight: boolean, problem: string): void => {
  if (!isRight) throw new ConfigurationError({ subject, problem })
}

/** A time of a program's configuration, in milliseconds. */
export const timeOf = (
  subject: string,
  name: string,
  input: Duration.Input,
  { atLeast = 0, atMost = longest }: { readonly atLeast?: number; readonly atMost?: number } = {}
): number => {
  const millis = millisOf(input) ?? Number.NaN
  configured(
    subject,
    millis >= atLeast && millis <= atMost,
    `\`${name}\` is a duration ${atLeast > 0 ? "above 0" : "of 0 or more"}${
      atMost === Infinity ? "" : " that ends"
    }, such as "5 seconds"`
  )
  return millis
}

/** Throws if a text of a program's configuration cannot be stored. */
export const checkName = (subject: string, what: string, text: string): void =>
  configured(
    subject,
    isStorable(text) && !isLong(text),
    `${what} is ${atMost}`
  )

/** Throws if a count of a program's configuration is invalid. */
export const checkCount = (subject: string, name: string, count: number): void =>
  configured(subject, Number.isSafeInteger(count) && count >= 1, `\`${name}\` is a whole number from 1`)
