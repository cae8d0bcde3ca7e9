/**
 * Exchange: the model call that HTTP requests are sent for. The transport reads from it how long it may wait, and reports in it
 * whether it has given a request up. Apart from the transport, so that an agent does not load HTTP.
 */
import * as Context from "effect/Context"
import { isRetried, moment, noteRetried } from "./effect/retriedFailures.ts"

/** State shared by a transport and the model call above it. */
export interface Exchange {
  /** True if a wait of so many milliseconds ends before the deadlines of the run. */
  readonly hasTime: (now: number, millis: number) => boolean
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
