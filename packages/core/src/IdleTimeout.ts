/**
 * Idle timeouts of a model's answer, for providers: how long a server may be silent before its answer counts as broken.
 *
 * Two limits, because a server can keep a dead answer alive with pings. `idleTimeout` bounds the wait for the next
 * bytes of a started answer. `contentTimeout` bounds the waits for content, regardless of pings. Only waiting counts: a
 * slow reader is not a silent server.
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { limitTime } from "./internal/foundation/effect/limitTime.ts"
import { aTimeLimit, durationOf } from "./internal/foundation/options/optionCheck.ts"

/**
 * The limits; `"Infinity"` lifts one.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The longest wait for the next bytes of a started answer, pings included. Default: 60 seconds. */
  readonly idleTimeout?: Duration.Input | undefined
  /**
   * The longest wait for content: from the request to the first piece, and from one piece to the next. Pings do not
   * count. Default: 10 minutes, because models may think for long before they answer.
   */
  readonly contentTimeout?: Duration.Input | undefined
}

/**
 * The server was silent for longer than a limit allows.
 *
 * @category errors
 * @since 0.2.0
 */
export class IdleTimeoutError extends Data.TaggedError("IdleTimeoutError")<{
  /** The limit that was reached. */
  readonly of: "bytes" | "content"
  readonly duration: Duration.Duration
}> {
  override get message(): string {
    return this.of === "bytes"
      ? `The server fell silent in the middle of its answer, for ${Duration.format(this.duration)}`
      : `The server sent no content for ${Duration.format(this.duration)}`
  }
}

/**
 * The limits of one answer, and how long it has been waited for.
 *
 * @category models
 * @since 0.2.0
 */
export interface IdleTimeout {
  /** Runs one wait for the server within the limits; the wait is interrupted at the end of them. */
  readonly wait: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | IdleTimeoutError, R>
  /**
   * Records the end of a wait. `content` restarts both limits, `ping` only the one of bytes. After a `pause`, with
   * which a model starts to think, only `contentTimeout` bounds the next wait, like before the first bytes.
   */
  readonly heard: (what: "content" | "ping" | "pause") => void
}

const millisOf = (name: keyof Options, limit: Duration.Input | undefined, otherwise: number): number =>
  limit === undefined ? otherwise : Duration.toMillis(durationOf("IdleTimeout", name, limit, otherwise, aTimeLimit))

/**
 * Makes the limits of one answer.
 *
 * ```ts
 * import { Effect } from "effect"
 * import { IdleTimeout } from "@recourse/core"
 *
 * const limits = IdleTimeout.make({ idleTimeout: "20 millis" })
 * limits.heard("content")
 * const silence = await Effect.runPromise(Effect.flip(limits.wait(Effect.never)))
 * silence.message // => "The server fell silent in the middle of its answer, for 20ms"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (options: Options = {}): IdleTimeout => {
  const idle = millisOf("idleTimeout", options.idleTimeout, 60_000)
  const content = millisOf("contentTimeout", options.contentTimeout, 600_000)
  let isReceiving = false
  let waited = 0
  return {
    wait: (self) =>
      Effect.withFiber((fiber) => {
        const left = content - waited
        const byBytes = isReceiving && idle < left
        const limit = byBytes ? idle : Math.max(0, left)
        if (limit === Number.POSITIVE_INFINITY) return self
        const clock = fiber.getRef(Clock.Clock)
        const start = clock.monotonicTimeNanosUnsafe()
        return Effect.map(
          limitTime(
            self,
            limit,
            () =>
              Effect.fail(
                new IdleTimeoutError({
                  of: byBytes ? "bytes" : "content",
                  duration: Duration.millis(byBytes ? idle : content)
                })
              )
          ),
          (result) => {
            waited += Number(clock.monotonicTimeNanosUnsafe() - start) / 1e6
            return result
          }
        )
      }),
    heard: (what) => {
      isReceiving = what !== "pause"
      if (what === "content") waited = 0
    }
  }
}
