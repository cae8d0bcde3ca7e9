/**
 * Runs an effect in a time of its own: when nothing is left to do but to wait, the clock goes to the next moment at which
 * somebody wakes up. An hour takes no time, and the same effect takes the same steps each time.
 *
 * It is for effects that wait by Effect's `Clock` and do no real input or output: whoever waits for a socket is not
 * waited for.
 */
import { Clock, Context, Duration, Effect, Exit, type Fiber, Metric, Scheduler } from "effect"
import { WebCrypto } from "effect/crypto"
import { VirtualScheduler } from "./scheduler.ts"
import { make as virtualCrypto } from "./virtualCrypto.ts"

/** How an effect ended in its own time. */
export interface Ended<out A, out E> {
  readonly exit: Exit.Exit<A, E>
  /** Milliseconds from its start to its end. */
  readonly elapsed: number
  /**
   * `"stalled"`: nothing ran and nobody slept; `"late"`: it was not over at `limit`; `"endless"`: it was not over after
   * `steps`. It was interrupted then.
   */
  readonly stopped: "stalled" | "late" | "endless" | undefined
  /** Fibers that were alive after its end. */
  readonly fibers: number
  /** Operations that its fibers took: the points at which it can be interrupted. */
  readonly operations: number
}

/** What can be done to an effect while it runs. */
export interface Control {
  /** Interrupts it at the next opportunity. */
  readonly interrupt: () => void
  /** Interrupts it for good: it has no end. */
  readonly giveUp: () => void
}

/** How an effect is run. */
export interface Options {
  /** The end of its time. Default: one day. */
  readonly limit?: Duration.Input | undefined
  /** How many turns of fibers it may take. Default: 200,000. */
  readonly steps?: number | undefined
  /** The operation before which it is interrupted; 1 is the first. */
  readonly interruptAt?: number | undefined
  /** A seed that draws the order in which fibers that are ready take turns. Default: first come, first served. */
  readonly order?: number | undefined
  /** What the clock on the wall shows after so many milliseconds. Sleeping goes by the real ones. Default: the same. */
  readonly wall?: ((elapsed: number) => number) | undefined
  /** Is given control before the effect starts. */
  readonly onStart?: ((control: Control) => void) | undefined
}

const hostTurn: (f: () => void) => void = "setImmediate" in globalThis
  ? (globalThis as unknown as { readonly setImmediate: (f: () => void) => void }).setImmediate
  : (f) => void setTimeout(f, 0)

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

class VirtualClock implements Clock.Clock {
  now = 0
  readonly sleepers: Array<Sleeper> = []
  private readonly wall: (elapsed: number) => number
  constructor(wall: (elapsed: number) => number) {
    this.wall = wall
  }
  currentTimeMillisUnsafe = (): number => this.wall(this.now)
  currentTimeNanosUnsafe = (): bigint => BigInt(Math.round(this.wall(this.now) * 1e6))
  monotonicTimeNanosUnsafe = (): bigint => BigInt(Math.round(this.now * 1e6))
  readonly currentTimeMillis = Effect.sync(this.currentTimeMillisUnsafe)
  readonly currentTimeNanos = Effect.sync(this.currentTimeNanosUnsafe)
  readonly monotonicTimeNanos = Effect.sync(this.monotonicTimeNanosUnsafe)

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const millis = Duration.toMillis(duration)
    if (millis <= 0) return Effect.void
    if (!Number.isFinite(millis)) return Effect.never
    return Effect.callback<void>((resume) => {
      const sleeper: Sleeper = { at: this.now + millis, wake: () => resume(Effect.void) }
      const next = this.sleepers.findIndex((other) => other.at > sleeper.at)
      this.sleepers.splice(next < 0 ? this.sleepers.length : next, 0, sleeper)
      return Effect.sync(() => {
        const index = this.sleepers.indexOf(sleeper)
        if (index >= 0) this.sleepers.splice(index, 1)
      })
    })
  }
}

/**
 * Runs an effect in virtual time. Does not fail: how it ended is in the answer.
 *
 * **Example** (A minute)
 *
 * ```ts
 * import { Effect, Exit } from "effect"
 * import { VirtualTime } from "@recourse/testing"
 *
 * const ended = await Effect.runPromise(VirtualTime.run(Effect.as(Effect.sleep("1 minute"), "done")))
 *
 * ended.exit // => Exit.succeed("done")
 * ended.elapsed // => 60_000
 * ```
 */
export const run = <A, E, R>(effect: Effect.Effect<A, E, R>, options?: Options): Effect.Effect<Ended<A, E>, never, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback<Ended<A, E>>((resume) => {
      const clock = new VirtualClock(options?.wall ?? ((elapsed) => elapsed))
      const limit = Duration.toMillis(options?.limit ?? "1 day")
      const { interruptAt } = options ?? {}
      let fibers = 0
      let steps = options?.steps ?? 200_000
      let stopped: Ended<A, E>["stopped"]
      let over = false
      let root: Fiber.Fiber<unknown, unknown> | undefined
      const scheduler = new VirtualScheduler(options?.order, (operations, running) => {
        root ??= running
        if (operations === interruptAt) root.interruptUnsafe()
      })
      const services = context.pipe(
        Context.add(Clock.Clock, clock),
        Context.add(Scheduler.Scheduler, scheduler),
        Context.add(WebCrypto.WebCrypto, virtualCrypto(Context.get(context, WebCrypto.WebCrypto))),
        Context.add(Metric.FiberRuntimeMetrics, {
          recordFiberStart: () => {
            fibers++
          },
          recordFiberEnd: () => {
            fibers--
          }
        })
      ) as Context.Context<R>

      let interrupt = false
      let givenUp = false
      options?.onStart?.({
        interrupt: () => {
          interrupt = true
        },
        giveUp: () => {
          givenUp = true
        }
      })
      const fiber = Effect.runForkWith(services)(effect)

      const finish = (exit: Exit.Exit<A, E>) => {
        over = true
        resume(Effect.succeed({ exit, elapsed: clock.now, stopped, fibers, operations: scheduler.operations }))
      }
      const stop = (why: "stalled" | "late" | "endless") => {
        if (stopped !== undefined) return finish(fiber.pollUnsafe() ?? Exit.interrupt())
        stopped = why
        fiber.interruptUnsafe()
        pump()
      }
      // Promises settle in the turn of the host between two pumps, so only timers and input of the host are not seen.
      const idle = () => {
        if (over) return
        if (!scheduler.isIdle) return pump()
        const exit = fiber.pollUnsafe()
        if (exit !== undefined) return finish(exit)
        const next = clock.sleepers[0]
        if (next === undefined) return stop("stalled")
        if (next.at > limit && stopped === undefined) return stop("late")
        clock.now = next.at
        clock.sleepers.shift()
        next.wake()
        pump()
      }
      const pump = () => {
        let turns = 1000 // Then the host has its turn, so that an endless effect can be interrupted.
        do {
          if (interrupt) {
            interrupt = false
            fiber.interruptUnsafe()
          }
          if (givenUp) {
            givenUp = false
            return stop("endless")
          }
          scheduler.next()
          if (--steps === 0) return stop("endless")
        } while (!scheduler.isIdle && --turns > 0)
        hostTurn(idle)
      }
      pump()
      return Effect.sync(() => {
        over = true
        fiber.interruptUnsafe()
      })
    })
  )
