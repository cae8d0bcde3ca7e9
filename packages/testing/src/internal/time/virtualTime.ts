/**
 * Virtual time: runs an effect with its own clock. If all fibers wait, the clock moves to the next wake-up. An hour
 * takes no real time, and the same effect takes the same steps each time.
 *
 * It is for effects that wait by Effect's `Clock` and do no real input or output: it does not wait for a socket.
 */
import { Clock, Context, Duration, Effect, Exit, type Fiber, Metric, Scheduler } from "effect"
import { WebCrypto } from "effect/crypto"
import { Turns, VirtualScheduler } from "./scheduler.ts"
import { make as virtualCrypto } from "./virtualCrypto.ts"

/**
 * End of an effect in its own time.
 *
 * @category models
 * @since 0.2.0
 */
export interface Ended<out A, out E> {
  readonly exit: Exit.Exit<A, E>
  /** Milliseconds from its start to its end. */
  readonly elapsed: number
  /**
   * `"stalled"`: no fiber ran or slept; `"late"`: it had not ended at `limit`; `"endless"`: it had not ended after
   * `steps`. It was interrupted then. `"killed"`: its process ended at `killAt`, and no fiber of it continued.
   */
  readonly stopped: "stalled" | "late" | "endless" | "killed" | undefined
  /** Fibers that were alive after its end, and after the time to `settle`. */
  readonly fibers: number
  /** Operations that its fibers took: the points at which it can be interrupted. */
  readonly operations: number
}

/**
 * Control of a running effect.
 *
 * @category models
 * @since 0.2.0
 */
export interface Control {
  /** Interrupts it at the next opportunity. */
  readonly interrupt: () => void
  /** Interrupts it for good: it has no end. */
  readonly giveUp: () => void
}

/**
 * Options of the time.
 *
 * @category options
 * @since 0.2.0
 */
export interface TimeOptions {
  /** The end of its time. Default: one day. */
  readonly limit?: Duration.Input | undefined
  /**
   * Time in which background fibers may end after all effects have ended. `elapsed` does not include it. Default: none.
   */
  readonly settle?: Duration.Input | undefined
  /** Maximum of fibers' turns. Default: 200,000. */
  readonly steps?: number | undefined
  /** A seed that draws the order in which fibers that are ready take turns. Default: first come, first served. */
  readonly order?: number | undefined
  /** When it begins, in milliseconds since the epoch. Default: 0. */
  readonly startAt?: number | undefined
}

/**
 * Events of one process.
 *
 * @category options
 * @since 0.2.0
 */
export interface ProcessOptions {
  /** The operation before which it is interrupted; 1 is the first. */
  readonly interruptAt?: number | undefined
  /** The operation before which its process is killed: no fiber of it continues, and no finalizer runs. */
  readonly killAt?: number | undefined
  /** Reading of its wall clock at a time. Sleeping uses the real one. Default: the same. */
  readonly wall?: ((time: number) => number) | undefined
  /** Separates its random identifiers from those of other processes. Default: 0. */
  readonly identity?: number | undefined
}

/**
 * Options of a run effect.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options extends TimeOptions, ProcessOptions {
  /** Is given control before the effect starts. */
  readonly onStart?: ((control: Control) => void) | undefined
}

/**
 * A process: an effect, and its events.
 *
 * @category models
 * @since 0.2.0
 */
export interface Process<out A, out E, out R> extends ProcessOptions {
  readonly effect: Effect.Effect<A, E, R>
}

const hostTurn: (f: () => void) => void = "setImmediate" in globalThis
  ? (globalThis as unknown as { readonly setImmediate: (f: () => void) => void }).setImmediate
  : (f) => void setTimeout(f, 0)

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/** The time of all processes. */
class Time {
  now: number
  readonly sleepers: Array<Sleeper> = []
  constructor(now: number) {
    this.now = now
  }

  sleep(millis: number): Effect.Effect<void> {
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

/** The clock of a process. */
class VirtualClock implements Clock.Clock {
  private readonly time: Time
  private readonly wall: (time: number) => number
  constructor(time: Time, wall: (time: number) => number) {
    this.time = time
    this.wall = wall
  }
  currentTimeMillisUnsafe = (): number => this.wall(this.time.now)
  currentTimeNanosUnsafe = (): bigint => BigInt(Math.round(this.wall(this.time.now) * 1e6))
  monotonicTimeNanosUnsafe = (): bigint => BigInt(Math.round(this.time.now * 1e6))
  readonly currentTimeMillis = Effect.sync(this.currentTimeMillisUnsafe)
  readonly currentTimeNanos = Effect.sync(this.currentTimeNanosUnsafe)
  readonly monotonicTimeNanos = Effect.sync(this.monotonicTimeNanosUnsafe)

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const millis = Duration.toMillis(duration)
    return millis <= 0 ? Effect.void : Number.isFinite(millis) ? this.time.sleep(millis) : Effect.never
  }
}

/** A process that runs. */
interface Running<A, E> {
  readonly scheduler: VirtualScheduler
  readonly fiber: Fiber.Fiber<A, E>
  readonly fibers: () => number
  readonly ended: () => Exit.Exit<A, E> | undefined
}

const start = <A, E, R>(
  { effect, identity, interruptAt, killAt, wall }: Process<A, E, R>,
  context: Context.Context<R>,
  time: Time,
  turns: Turns
): Running<A, E> => {
  let alive = 0
  let root: Fiber.Fiber<unknown, unknown> | undefined
  const scheduler = new VirtualScheduler(turns, (operations, running) => {
    root ??= running
    if (operations === interruptAt) root.interruptUnsafe()
    if (operations === killAt) scheduler.isDead = true
  })
  const services = context.pipe(
    Context.add(Clock.Clock, new VirtualClock(time, wall ?? ((now) => now))),
    Context.add(Scheduler.Scheduler, scheduler),
    Context.add(WebCrypto.WebCrypto, virtualCrypto(Context.get(context, WebCrypto.WebCrypto), identity)),
    Context.add(Metric.FiberRuntimeMetrics, {
      recordFiberStart: () => {
        alive++
      },
      recordFiberEnd: () => {
        alive--
      }
    })
  ) as Context.Context<R>
  const fiber = Effect.runForkWith(services)(effect)
  return {
    scheduler,
    fiber,
    fibers: () => scheduler.isDead ? 0 : alive,
    ended: () => fiber.pollUnsafe() ?? (scheduler.isDead ? Exit.interrupt() : undefined)
  }
}

const interrupted = <A, E>(processes: ReadonlyArray<Running<A, E>>): void => {
  for (const { fiber, scheduler } of processes) if (!scheduler.isDead) fiber.interruptUnsafe()
}

/** True if processes that have ended have no fiber that ends by a time. */
const isSettled = <A, E>(
  processes: ReadonlyArray<Running<A, E>>,
  next: Sleeper | undefined,
  end: number
): boolean => next === undefined || next.at > end || processes.every(({ fibers }) => fibers() === 0)

/**
 * Runs several effects in one virtual time, each in a process of its own: with its own wall clock, and killed or
 * interrupted by itself. They share only objects of the program: a store, a world.
 *
 * **Example** (Two processes, of which one is killed while it waits)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { VirtualTime } from "@recourse/testing"
 *
 * const done: Array<string> = []
 * const work = (name: string) => Effect.andThen(Effect.sleep("1 second"), Effect.sync(() => void done.push(name)))
 *
 * const ended = await Effect.runPromise(
 *   VirtualTime.runAll([{ effect: work("a"), killAt: 2 }, { effect: work("b") }])
 * )
 *
 * ended.map(({ stopped }) => stopped) // => ["killed", undefined]
 * done // => ["b"]
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const runAll = <A, E, R>(
  processes: ReadonlyArray<Process<A, E, R>>,
  options?: TimeOptions & { readonly onStart?: ((control: Control) => void) | undefined }
): Effect.Effect<ReadonlyArray<Ended<A, E>>, never, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback<ReadonlyArray<Ended<A, E>>>((resume) => {
      const startAt = options?.startAt ?? 0
      const time = new Time(startAt)
      const turns = new Turns(options?.order)
      const limit = startAt + Duration.toMillis(options?.limit ?? "1 day")
      const settle = Duration.toMillis(options?.settle ?? 0)
      let steps = options?.steps ?? 200_000
      let endedAt: number | undefined
      let stopped: Ended<A, E>["stopped"]
      let over = false
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
      const running = processes.map((process) => start(process, context, time, turns))
      const interruptAll = () => interrupted(running)
      const finish = () => {
        over = true
        resume(Effect.succeed(running.map(({ ended, fibers, scheduler }) => ({
          exit: ended() ?? Exit.interrupt(),
          elapsed: (endedAt ?? time.now) - startAt,
          stopped: scheduler.isDead ? "killed" : stopped,
          fibers: fibers(),
          operations: scheduler.operations
        }))))
      }
      const stop = (why: "stalled" | "late" | "endless") => {
        if (stopped !== undefined) return finish()
        stopped = why
        interruptAll()
        pump()
      }
      // Promises settle in the turn of the host between two pumps, so only timers and input of the host are not seen.
      const idle = () => {
        if (over) return
        if (!turns.isIdle) return pump()
        const next = time.sleepers[0]
        if (running.every(({ ended }) => ended() !== undefined)) endedAt ??= time.now
        if (endedAt !== undefined && isSettled(running, next, endedAt + settle)) return finish()
        if (next === undefined) return stop("stalled")
        if (next.at > limit && stopped === undefined) return stop("late")
        time.now = next.at
        time.sleepers.shift()
        next.wake()
        pump()
      }
      const pump = () => {
        let left = 1000 // Then the host has its turn, so that an endless effect can be interrupted.
        do {
          if (interrupt) {
            interrupt = false
            interruptAll()
          }
          if (givenUp) {
            givenUp = false
            return stop("endless")
          }
          turns.next()
          if (--steps === 0) return stop("endless")
        } while (!turns.isIdle && --left > 0)
        hostTurn(idle)
      }
      pump()
      return Effect.sync(() => {
        over = true
        interruptAll()
      })
    })
  )

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
 *
 * @category running
 * @since 0.2.0
 */
export const run = <A, E, R>(effect: Effect.Effect<A, E, R>, options?: Options): Effect.Effect<Ended<A, E>, never, R> =>
  Effect.map(runAll([{ ...options, effect }], options), ([ended]) => ended!)
