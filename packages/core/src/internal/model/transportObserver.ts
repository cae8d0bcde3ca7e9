/**
 * Transport observer: hears of HTTP requests that are sent again. Apart from the sending, so that an agent does not
 * load HTTP.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/**
 * Why an attempt is repeated: a status of the server, or a connection that failed. `code` is the operating system's or the client's, such as `ECONNREFUSED`.
 *
 * @category errors
 * @since 0.2.0
 */
export type Failure =
  | { readonly _tag: "Status"; readonly status: number }
  | { readonly _tag: "Transport"; readonly code: string | undefined }

/**
 * One wait before a further attempt, for the `Observer`.
 *
 * @category models
 * @since 0.2.0
 */
export interface Retry {
  /** The attempt that failed, from 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /** Wait before attempt `attempt + 1`. */
  readonly delay: Duration.Duration
  readonly failure: Failure
  /** The server's requested wait, if there is one. */
  readonly retryAfter: Duration.Duration | undefined
  readonly method: string
  /** Host and port only: paths and queries may hold secrets. */
  readonly host: string
}

/**
 * Called before each wait, in the fiber of the request. Default: no action. It cannot fail; to end the request instead
 * of waiting, interrupt or die.
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TransportRetry } from "@recourse/core"
 *
 * export const logged = <A, E, R>(self: Effect.Effect<A, E, R>) =>
 *   Effect.provideService(self, TransportRetry.Observer, (retry) => Effect.logDebug("transport retry", retry.host, retry.attempt))
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const Observer = Context.Reference<(retry: Retry) => Effect.Effect<void>>(
  "@recourse/core/TransportRetry/Observer",
  {
    defaultValue: () => () => Effect.void
  }
)
