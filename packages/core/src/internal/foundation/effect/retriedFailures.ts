/**
 * Retried failures: errors and responses that a layer of retry has given up after another attempt. The layers around it do not
 * retry them for the same reason. A transport reports in the exchange of its model call; it is here, so that an agent does not load HTTP.
 */
import * as Predicate from "effect/Predicate"
import * as Context from "effect/Context"
import { isToolError } from "../../../ToolError.ts"

/** Moment at which a layer gave up, by its error: a program may fail with one object in several attempts. */
const retried = new WeakMap<object, number>()

let marks = 0

/** The current moment, for `isRetried`: read when an attempt starts. */
export const moment = (): number => marks

/** Marks the error of a layer after its retries. */
export const noteRetried = (failure: unknown): void => {
  if (typeof failure === "object" && failure !== null) retried.set(failure, ++marks)
}

const deepest = 8

/** Errors of calls compute `cause` from one of these fields. The copy is without secrets and marks, and takes long to make. */
const causesOf = (error: object): ReadonlyArray<string> =>
  isToolError(error) ? ["reason", "error"] : ["reason", "cause", "response"]

/** True if an error, or a cause of it, was given up by a layer within the attempt that started at `since`. */
export const isRetried = (error: unknown, since: number, depth = 0): boolean => {
  // Without a mark since then there is none to find.
  if (marks <= since || typeof error !== "object" || error === null || depth > deepest) return false
  if ((retried.get(error) ?? 0) > since) return true
  return causesOf(error).some((name) => Predicate.hasProperty(error, name) && isRetried(error[name], since, depth + 1))
}

/** State shared by a transport and the model call above it. */
export interface Exchange {
  /** True if a wait of so many milliseconds ends before the deadlines of the run. */
  readonly hasTime: (millis: number) => boolean
  /** True if the last request was given up after another attempt. */
  hasGivenUp: boolean
  /** The moment at which the model call started. */
  since: number
}

/** The model call that requests are sent for; none outside of agents and `ModelError.layer`. */
export const CurrentExchange: Context.Reference<Exchange | undefined> = Context.Reference<Exchange | undefined>(
  "@recourse/core/TransportRetry/Exchange",
  { defaultValue: () => undefined }
)

export const makeExchange = (hasTime: Exchange["hasTime"]): Exchange => ({
  hasTime,
  hasGivenUp: false,
  since: moment()
})

/** Starts another call. */
export const startCall = (exchange: Exchange): void => {
  exchange.hasGivenUp = false
  exchange.since = moment()
}

/** True if a layer below a failed model call has retried its error: the transport, or a layer of the model. */
export const hasRetried = (exchange: Exchange, error: object): boolean => {
  if (exchange.hasGivenUp) noteRetried(error)
  return isRetried(error, exchange.since)
}
