/** Runner: takes runs, executes them, renews their leases, and leaves them when it stops. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { KnownConversations } from "../conversation.ts"
import { type Changes, pendingOf, wakeUp } from "../changes.ts"
import type { Versions } from "../versions.ts"
import { execute } from "../execute.ts"
import type { Execution } from "../execution.ts"
import type { Surroundings } from "../recorder.ts"
import { askAbout } from "../approvalReminders.ts"
import { Places } from "../processSlots.ts"
import { makeQuietly } from "./ignoreFailures.ts"
import type { Lease, LeasedRun, Store, StoredRun, Take, Taken, WakeUp } from "../store.ts"
import { make as makeWriter } from "../writer.ts"

/** Options of a runner. */
export interface RunnerOptions {
  readonly lease: Duration.Duration
  readonly poll: Duration.Duration
  readonly concurrency: number
  readonly grace: Duration.Duration
}

/** Number of cancelled runs that a runner ends in addition to its slots. */
const endedTogether = 20

interface Held extends Lease {
  readonly leave: Execution["leave"]
  readonly fiber: Fiber.Fiber<void>
}

const nothing: Taken = { taken: [], due: [], held: [] }

type Added = Effect.Success<ReturnType<Store["insert"]>>

/** A runner that works. */
export interface Runner {
  /** A run was cancelled, or has a reader in another process. */
  readonly hear: (wakeUp: WakeUp) => void
  /** Starts a run by adding it: as one that this process executes from the start, if there is room. */
  readonly start: <E>(
    agent: string,
    add: (leaseMillis?: number) => Effect.Effect<Added, E>
  ) => Effect.Effect<Added, E>
  /** True if this process owns the run. */
  readonly isHeld: (runId: string) => boolean
}

/** Starts a runner, which stops with the scope. */
// oxlint-disable-next-line max-lines-per-function -- one runner: what it polls, executes and stops shares its state
export const make = Effect.fnUntraced(function*(
  store: Store,
  agents: Versions,
  changes: Changes,
  known: KnownConversations,
  { concurrency, grace, lease, poll }: RunnerOptions
): Effect.fn.Return<Runner, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  // Executions end by `stop`, and not with the scope: they have their grace, and are given back.
  const scope = yield* Scope.make()
  const held = new Map<string, Held>()
  const leaseMillis = Duration.toMillis(lease)
  let readElsewhere: ReadonlySet<string> = new Set()
  let isStopping = false
  let isAwake = false
  let adding = 0
  const places = new Places(concurrency, () => held.size + adding, () => wake())
  let renewedAt = clock.currentTimeMillisUnsafe()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const writer = makeWriter(store, (write) => void run(write))
  const around: Surroundings = {
    store,
    tell: (name) => changes.tell(name),
    heard: (name) => changes.heard(name),
    isRead: (runId) => changes.isRead(runId) || readElsewhere.has(runId),
    isFollowed: (runId) => readElsewhere.has(runId),
    places,
    writer,
    known
  }
  const wake = (): void => {
    isAwake = true
    changes.tell(wakeUp)
  }
  const quietly = makeQuietly()
  const take = (what: string, wanted: Take): Effect.Effect<Taken> =>
    Effect.map(quietly(what, store.take(wanted)), (answer) => answer ?? nothing)

  const begin = (stored: StoredRun): Effect.Effect<void> =>
    Effect.suspend(() => {
      const taken = agents.takes(stored)
      if (taken === undefined) return Effect.void
      const { epoch, runId } = stored
      let execution: Execution | undefined
      const executing = Effect.onExit(
        Effect.suspend(() => execute(around, taken, stored, (ready) => execution = ready)),
        () =>
          Effect.sync(() => {
            if (held.get(runId)?.epoch === epoch) held.delete(runId)
            places.settle()
            wake()
          })
      )
      return Effect.map(Effect.forkIn(executing, scope), (fiber) => {
        held.set(runId, { runId, epoch, fiber, leave: (why) => execution?.leave(why) })
        if (fiber.pollUnsafe() !== undefined) held.delete(runId)
      })
    })

  /** True if the claim of that request is still valid: an answer behind the lease names runs that others may have. */
  const isInTime = (askedAt: number): boolean => clock.currentTimeMillisUnsafe() - askedAt < leaseMillis

  const start: Runner["start"] = (agent, add) =>
    Effect.uninterruptibleMask((restore) => {
      // A queue counts over all runners.
      const isTaken = agents.claimable.some((one) => one.agent === agent && one.queue === undefined)
      if (isStopping || !isTaken || places.room <= 0) return restore(add())
      adding++
      const askedAt = clock.currentTimeMillisUnsafe()
      return Effect.ensuring(
        Effect.map(restore(add(leaseMillis)), (added) => {
          // In the context of the runner, and not in that of who starts it.
          if (added.isNew && added.run.status === "running" && isInTime(askedAt)) run(begin(added.run))
          return added
        }),
        Effect.sync(() => {
          adding--
          places.settle()
        })
      )
    })

  const claim: Effect.Effect<void> = Effect.suspend(() => {
    const free = Math.min(places.room, 100)
    if (isStopping) return Effect.void
    // Without room, cancelled runs are still ended.
    const onlyCancelled = free <= 0 ? true : undefined
    const limit = onlyCancelled ? endedTogether - Math.max(0, -free) : free
    if (limit <= 0 || agents.claimable.length === 0) return Effect.void
    const askedAt = clock.currentTimeMillisUnsafe()
    return Effect.flatMap(
      take("none could be claimed", { agents: agents.claimable, leaseMillis, limit, onlyCancelled }),
      ({ taken }) =>
        Effect.andThen(
          Effect.forEach(isInTime(askedAt) ? taken : [], begin, { discard: true }),
          // There may be more.
          taken.length < limit ? Effect.void : claim
        )
    )
  })

  const noteRead = (read: ReadonlySet<string>): void => {
    const before = readElsewhere
    readElsewhere = read
    for (const runId of read) if (!before.has(runId)) changes.tell(pendingOf(runId))
  }
  const noteLeased = (holds: ReadonlyArray<Held>, kept: ReadonlyArray<LeasedRun>): void => {
    const still = new Map(kept.map((one) => [one.runId, one]))
    noteRead(new Set(kept.flatMap(({ isRead, runId }) => isRead ? [runId] : [])))
    for (const { epoch, leave, runId } of holds) {
      if (held.get(runId)?.epoch !== epoch) continue
      const one = still.get(runId)
      if (one === undefined) leave("lost")
      else if (one.isCancelled) leave("cancelled")
    }
  }

  /** Looks at the runs that are held, and renews their leases in time. */
  const keep: Effect.Effect<void> = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    const isDue = now - renewedAt >= leaseMillis / 3
    const holds = [...held.values()]
    if (holds.length === 0) {
      renewedAt = now
      return Effect.void
    }
    const asked = store.take({
      held: holds.map(({ epoch, runId }) => ({ epoch, runId })),
      leaseMillis: isDue ? leaseMillis : undefined
    })
    return Effect.map(
      quietly("leases could not be renewed", Effect.timeout(asked, leaseMillis / 3)),
      (answer) => {
        if (answer !== undefined) {
          if (isDue) renewedAt = now
          return noteLeased(holds, answer.held)
        }
        // Others may have them by now.
        if (clock.currentTimeMillisUnsafe() - renewedAt >= leaseMillis) {
          for (const { leave } of holds) leave("lost")
        }
      }
    )
  })

  const ask = Effect.suspend(() => {
    if (isStopping || agents.asking.length === 0) return Effect.void
    const found = take("none that wait could be read", { due: agents.asking, leaseMillis, limit: 100 })
    const about = (stored: StoredRun) => {
      const taken = agents.takes(stored)
      const asking = taken?.registered.definition.asking
      return taken === undefined || asking === undefined ? Effect.void : Effect.asVoid(
        quietly("no person could be asked", askAbout(store, asking, taken.registered.context, stored))
      )
    }
    return Effect.flatMap(found, ({ due }) => Effect.forEach(due, about, { concurrency: 10, discard: true }))
  })

  const tick = Effect.suspend(() => {
    isAwake = false
    return Effect.andThen(ask, claim)
  })
  const claiming = Effect.forever(
    Effect.andThen(tick, Effect.suspend(() => isAwake ? Effect.void : changes.next(wakeUp, poll)))
  )
  const keeping = Effect.forever(Effect.andThen(Effect.sleep(poll), keep))

  const stop = Effect.gen(function*() {
    isStopping = true
    const executions = [...held.values()]
    if (executions.length === 0) return
    yield* Effect.ignore(Effect.timeout(Fiber.awaitAll(executions.map(({ fiber }) => fiber)), grace))
    const left = [...held.values()]
    for (const { leave } of left) leave("stopping")
    yield* Effect.ignore(Effect.timeout(Fiber.awaitAll(left.map(({ fiber }) => fiber)), grace))
    const released = Effect.forEach(left, (hold) => store.settle(hold, { status: "queued" }), { discard: true })
    yield* quietly("runs could not be given back", released)
    // A silent store does not delay a stop.
    writer.close()
  })
  const claims = yield* Effect.forkIn(claiming, scope)
  yield* Effect.forkIn(keeping, scope)
  // Leases are renewed while the runs come to their ends.
  yield* Effect.addFinalizer((exit) =>
    Effect.ensuring(
      // A fiber of its own: SIGTERM has interrupted this one, and its interruptible regions end at once.
      Effect.andThen(Fiber.interrupt(claims), Effect.flatMap(Effect.forkDetach(stop), Fiber.await)),
      Scope.close(scope, exit)
    )
  )
  const hear = (wakeUp: WakeUp): void => {
    if (wakeUp._tag === "Queued") return wake()
    if (!held.has(wakeUp.runId)) return
    if (wakeUp._tag === "Cancelled") held.get(wakeUp.runId)!.leave("cancelled")
    else if (wakeUp._tag === "Read") noteRead(new Set([...readElsewhere, wakeUp.runId]))
  }
  return { hear, start, isHeld: (runId) => held.has(runId) }
})
