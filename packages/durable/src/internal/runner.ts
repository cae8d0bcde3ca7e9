/** Runner: claims runs, lives them, keeps their leases, and leaves them when it stops. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Changes } from "./changes.ts"
import type { Registered } from "./definition.ts"
import { type Leave, live, type Surroundings } from "./life.ts"
import type { Hold, Store, StoredRun } from "./store.ts"
import { make as makeWriter } from "./writer.ts"

/** How a runner works. */
export interface RunnerOptions {
  readonly lease: Duration.Duration
  readonly poll: Duration.Duration
  readonly concurrency: number
  readonly grace: Duration.Duration
}

interface Held extends Hold {
  readonly leave: (why: Leave) => void
  readonly fiber: Fiber.Fiber<void>
}

/** A runner that works. */
export interface Runner {
  /** There may be something to claim. */
  readonly wake: () => void
  /** A run may be to be cancelled. */
  readonly lookAtCancelled: Effect.Effect<void>
}

/** The name under which the runner hears that there may be something to claim. */
const due = ""

/** Starts a runner, which stops with the scope. */
export const make = (
  store: Store,
  agents: ReadonlyMap<string, Registered>,
  changes: Changes,
  { concurrency, grace, lease, poll }: RunnerOptions
): Effect.Effect<Runner, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    // Lives end by `stop`, and not with the scope: they have their grace, and are given back.
    const scope = yield* Scope.make()
    const held = new Map<string, Held>()
    const leaseMillis = Duration.toMillis(lease)
    let isStopping = false
    let isAwake = false
    let renewedAt = clock.currentTimeMillisUnsafe()
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const around: Surroundings = {
      store,
      agents,
      idleLives: 20,
      tell: (runId) => changes.tell(runId),
      writer: makeWriter(store, (write) => void run(write))
    }
    const wake = (): void => {
      isAwake = true
      changes.tell(due)
    }
    const quietly = <A>(what: string, effect: Effect.Effect<A, unknown>): Effect.Effect<A | undefined> =>
      Effect.catchCause(effect, (cause) => Effect.as(Effect.logWarning(`Durable runs: ${what}`, cause), undefined))

    const begin = (stored: StoredRun): Effect.Effect<void> =>
      Effect.suspend(() => {
        const registered = agents.get(stored.agent)
        if (registered === undefined) return Effect.void
        let leave: (why: Leave) => void = () => undefined
        const life = Effect.onExit(
          Effect.suspend(() => live(around, registered, stored, (ready) => leave = ready)),
          () =>
            Effect.sync(() => {
              if (held.get(stored.runId)?.epoch === stored.epoch) held.delete(stored.runId)
              wake()
            })
        )
        return Effect.map(Effect.forkIn(life, scope), (fiber) => {
          held.set(stored.runId, {
            runId: stored.runId,
            epoch: stored.epoch,
            fiber,
            leave: (why) => leave(why)
          })
          if (fiber.pollUnsafe() !== undefined) held.delete(stored.runId)
        })
      })

    const claim: Effect.Effect<void> = Effect.suspend(() => {
      const limit = Math.min(concurrency - held.size, 100)
      if (isStopping || limit <= 0) return Effect.void
      return Effect.flatMap(
        quietly("none could be claimed", store.claim({ agents: [...agents.keys()], leaseMillis, limit })),
        (claimed = []) =>
          Effect.andThen(
            Effect.forEach(claimed, begin, { discard: true }),
            // There may be more.
            claimed.length < limit ? Effect.void : claim
          )
      )
    })

    const renew: Effect.Effect<void> = Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      if (now - renewedAt < leaseMillis / 3) return Effect.void
      const holds = [...held.values()]
      return Effect.map(
        quietly("leases could not be renewed", Effect.timeout(store.renew(holds, leaseMillis), leaseMillis / 3)),
        (renewed) => {
          if (renewed === undefined) {
            // Others may have them by now.
            if (clock.currentTimeMillisUnsafe() - renewedAt >= leaseMillis) {
              for (const { leave } of holds) leave("lost")
            }
            return
          }
          renewedAt = now
          const still = new Set(renewed)
          for (const { epoch, leave, runId } of holds) {
            if (!still.has(runId) && held.get(runId)?.epoch === epoch) leave("lost")
          }
        }
      )
    })

    const lookAtCancelled = Effect.suspend(() => {
      if (held.size === 0) return Effect.void
      return Effect.map(
        quietly("cancelled ones could not be read", store.cancelled([...held.keys()])),
        (cancelled = []) => {
          for (const runId of cancelled) held.get(runId)?.leave("cancelled")
        }
      )
    })

    const tick = Effect.suspend(() => {
      isAwake = false
      return claim
    })
    const claiming = Effect.forever(
      Effect.andThen(tick, Effect.suspend(() => isAwake ? Effect.void : changes.next(due, poll)))
    )
    const keeping = Effect.forever(Effect.andThen(Effect.sleep(poll), Effect.andThen(renew, lookAtCancelled)))

    const stop = Effect.gen(function*() {
      isStopping = true
      const lives = [...held.values()]
      if (lives.length === 0) return
      yield* Effect.ignore(Effect.timeout(Fiber.awaitAll(lives.map(({ fiber }) => fiber)), grace))
      const left = [...held.values()]
      for (const { leave } of left) leave("stopping")
      yield* Effect.ignore(Effect.timeout(Fiber.awaitAll(left.map(({ fiber }) => fiber)), grace))
      yield* quietly("runs could not be given back", store.release(left))
    })
    const claims = yield* Effect.forkIn(claiming, scope)
    yield* Effect.forkIn(keeping, scope)
    // Leases are renewed while the runs come to their ends.
    yield* Effect.addFinalizer((exit) =>
      Effect.ensuring(
        Effect.andThen(Fiber.interrupt(claims), Effect.interruptible(stop)),
        Scope.close(scope, exit)
      )
    )
    return { wake, lookAtCancelled }
  })
