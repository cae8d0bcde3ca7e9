/** Event stream of a run, with back-pressure: a full buffer makes the run wait. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import type { EventSink } from "../run/observe/listeners.ts"
import type { Mode } from "./runMode.ts"

/**
 * Options of an event stream.
 *
 * @category options
 * @since 0.2.0
 */
export interface StreamOptions {
  /**
   * Number of events that wait for the consumer before the run waits too. Events at the run's end do not wait, so that
   * neither a deadline nor an interruption waits for a slow consumer. Default: 64.
   */
  readonly bufferSize?: number | undefined
}

const bufferSizeOf = (options: StreamOptions | undefined): number => {
  const { bufferSize = 64 } = options ?? {}
  if (bufferSize === Infinity || (Number.isInteger(bufferSize) && bufferSize >= 1)) return bufferSize
  throw new ConfigurationError({ subject: "agent.stream", problem: "bufferSize must be an integer >= 1, or Infinity" })
}

/** Wait of a run whose events are not consumed; absent if the run is uninterruptible. */
class Taken {
  private readonly waiting = new Set<() => void>()

  private readonly notified: Effect.Effect<void> = Effect.callback((resume) => {
    const go = () => resume(Effect.void)
    this.waiting.add(go)
    return Effect.sync(() => this.waiting.delete(go))
  })

  readonly wait: Effect.Effect<void> = Effect.uninterruptibleMask((restore) =>
    restore === Effect.interruptible ? restore(this.notified) : Effect.void
  )

  notify(): void {
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const go of waiting) go()
  }
}

/** The events of a run as a stream. It ends or fails as the run does; a consumer that stops interrupts the run. */
export const eventStream = <E, R>(
  run: (mode: Mode) => Effect.Effect<unknown, E, R>,
  options?: StreamOptions
): Stream.Stream<AgentEvent, E, R> => {
  const bufferSize = bufferSizeOf(options)
  return Stream.suspend(() => {
    const taken = new Taken()
    return Stream.callback<AgentEvent, E, R>((queue) => {
      const sink: EventSink = {
        emit: (event) => {
          Queue.offerUnsafe(queue, event)
          return Queue.sizeUnsafe(queue) <= bufferSize ? Effect.void : taken.wait
        }
      }
      return Effect.onExit(
        run({ streaming: true, sink }),
        (exit) => Exit.isSuccess(exit) ? Queue.end(queue) : Queue.failCause(queue, exit.cause)
      )
    }).pipe(Stream.mapArray((events) => {
      taken.notify()
      return events
    }))
  })
}
