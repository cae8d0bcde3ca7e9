/** Runner: takes runs, executes them, and leaves them when it stops. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { askAbout } from "../agent/approvalReminders.ts"
import { type Changes, type Subscription, wakeUp } from "../run/changes.ts"
import type { KnownConversations } from "../store/conversation.ts"
import { execute } from "../run/execute.ts"
import { Execution } from "../run/execution.ts"
import { Places } from "../queue/processSlots.ts"
import type { Surroundings } from "../run/recorder.ts"
import type { Store, StoredRun, Take, Taken, WakeUp } from "../store/store.ts"
import type { Versions } from "../agent/versions.ts"
import { make as makeWriter } from "../run/writer.ts"
import { makeQuietly } from "./ignoreFailures.ts"
import { Leases } from "./leases.ts"

/** Options of a runner. */
export interface RunnerOptions {
  readonly lease: Duration.Duration
  readonly poll: Duration.Duration
  readonly concurrency: number
  readonly grace: Duration.Duration
}

/** Number of cancelled runs that a runner ends in addition to its slots. */
const endedTogether = 20

const nothing: Taken = { taken: [], due: [], leases: [] }

type Added = Effect.Success<ReturnType<Store["insert"]>>

/** A runner that works. */
export interface Runner {
  /** Starts a run by adding it: as one that this process executes from the start, if there is room. */
  readonly start: <E>(
    agent: string,
    add: (leaseMillis?: number) => Effect.Effect<Added, E>
  ) => Effect.Effect<Added, E>
  /** True if this process owns the run. */
  readonly isOwned: (runId: string) => boolean
}

/** The process of a runner. */
interface Process {
  readonly clock: Clock.Clock
  /** Scope of the executions. */
  readonly scope: Scope.Scope
  /** Forks an effect in the context of the runner. */
  readonly fork: (effect: Effect.Effect<unknown>) => void
}

/** A runner over leases. */
class LeasingRunner {
  readonly leases: Leases
  private readonly store: Store
  private readonly agents: Versions
  private readonly changes: Changes
  private readonly process: Process
  private readonly options: RunnerOptions
  private readonly places: Places
  private readonly around: Surroundings
  private readonly quietly = makeQuietly()
  private isStopping = false
  /** Number of runs that are being added. */
  private adding = 0

  constructor(
    store: Store,
    agents: Versions,
    changes: Changes,
    known: KnownConversations,
    options: RunnerOptions,
    process: Process
  ) {
    this.store = store
    this.agents = agents
    this.changes = changes
    this.options = options
    this.process = process
    const leases = new Leases(store, changes, process.clock, this.quietly, Duration.toMillis(options.lease))
    this.leases = leases
    this.places = new Places(options.concurrency, () => leases.size + this.adding, () => this.wake())
    this.around = {
      store,
      notify: (name) => changes.notify(name),
      subscribe: (name) => changes.subscribe(name),
      isRead: (runId) => changes.isRead(runId) || leases.isReadElsewhere(runId),
      isFollowed: (runId) => leases.isReadElsewhere(runId),
      places: this.places,
      writer: makeWriter(store, process.fork),
      known
    }
  }

  /** A run may be taken, was cancelled, or has a reader in another process. */
  readonly receive = (wakeUp: WakeUp): void => {
    if (wakeUp._tag === "Queued") this.wake()
    else if (wakeUp._tag === "Cancelled" || wakeUp._tag === "Read") this.leases.receive(wakeUp._tag, wakeUp.runId)
  }

  readonly start: Runner["start"] = (agent, add) =>
    Effect.uninterruptibleMask((restore) => {
      const { leases, places } = this
      // A queue counts over all runners.
      const isTaken = this.agents.claimable.some((one) => one.agent === agent && one.queue === undefined)
      if (this.isStopping || !isTaken || places.room <= 0) return restore(add())
      this.adding++
      const requestedAt = leases.now
      return Effect.ensuring(
        Effect.map(restore(add(leases.millis)), (added) => {
          // In the context of the runner, and not in that of who starts it.
          if (added.isNew && added.run.status === "running" && leases.isInTime(requestedAt)) {
            this.process.fork(this.begin(added.run))
          }
          return added
        }),
        Effect.sync(() => {
          this.adding--
          places.settle()
        })
      )
    })

  /** Asks persons and claims runs, whenever the runner wakes. */
  claiming(change: Subscription): Effect.Effect<never> {
    const tick = Effect.suspend(() => Effect.andThen(this.ask, this.claim))
    return Effect.forever(Effect.andThen(tick, change.next(this.options.poll)))
  }

  /** Renews the leases. */
  get renewing(): Effect.Effect<never> {
    return Effect.forever(Effect.andThen(Effect.sleep(this.options.poll), this.leases.renew))
  }

  /** Lets executions end, and releases the runs of those that have not ended in time. */
  readonly stop = Effect.gen({ self: this }, function*() {
    this.isStopping = true
    yield* this.release
    // A silent store does not delay a stop. Executions that have lost their runs may wait for it, too.
    this.around.writer.close()
  })

  private readonly release = Effect.gen({ self: this }, function*() {
    const { grace } = this.options
    const executions = this.leases.all
    if (executions.length === 0) return
    yield* Effect.ignore(Effect.timeout(Fiber.awaitAll(executions.map(({ fiber }) => fiber)), grace))
    const left = this.leases.all
    for (const { leave } of left) leave("stopping")
    yield* Effect.ignore(Effect.timeout(Fiber.awaitAll(left.map(({ fiber }) => fiber)), grace))
    const released = Effect.forEach(left, (one) => this.store.settle(one, { status: "queued" }), { discard: true })
    yield* this.quietly("runs could not be given back", released)
  })

  private wake(): void {
    this.changes.notify(wakeUp)
  }

  private take(what: string, wanted: Take): Effect.Effect<Taken> {
    return Effect.map(this.quietly(what, this.store.take(wanted)), (answer) => answer ?? nothing)
  }

  private begin(stored: StoredRun): Effect.Effect<void> {
    return Effect.suspend(() => {
      const taken = this.agents.takes(stored)
      if (taken === undefined) return Effect.void
      const { epoch, isCancelled, runId, startedAt } = stored
      const execution = new Execution(stored)
      const executing = Effect.onExit(
        Effect.suspend(() => execute(this.around, taken, stored, execution)),
        () =>
          Effect.sync(() => {
            this.leases.remove({ runId, epoch, startedAt })
            this.places.settle()
            this.wake()
          })
      )
      return Effect.map(
        Effect.forkIn(executing, this.process.scope),
        (fiber) =>
          this.leases.add({ runId, epoch, startedAt, isCancelled, fiber, leave: (why) => execution.leave(why) })
      )
    })
  }

  private readonly claim: Effect.Effect<void> = Effect.suspend(() => {
    const { agents: { claimable }, leases } = this
    const free = Math.min(this.places.room, 100)
    if (this.isStopping) return Effect.void
    // Without room, cancelled runs are still ended.
    const onlyCancelled = free <= 0 ? true : undefined
    const limit = onlyCancelled ? endedTogether - Math.max(0, -free) : free
    if (limit <= 0 || claimable.length === 0) return Effect.void
    const requestedAt = leases.now
    return Effect.flatMap(
      this.take("none could be claimed", { agents: claimable, leaseMillis: leases.millis, limit, onlyCancelled }),
      ({ taken }) =>
        Effect.andThen(
          Effect.forEach(leases.isInTime(requestedAt) ? taken : [], (one) => this.begin(one), { discard: true }),
          // There may be more.
          taken.length < limit ? Effect.void : this.claim
        )
    )
  })

  /** Asks persons about the runs that wait for them. */
  private readonly ask: Effect.Effect<void> = Effect.suspend(() => {
    const { agents: { asking: due }, leases: { millis: leaseMillis } } = this
    if (this.isStopping || due.length === 0) return Effect.void
    const found = this.take("none that wait could be read", { due, leaseMillis, limit: 100 })
    const about = (stored: StoredRun) => {
      const taken = this.agents.takes(stored)
      const asking = taken?.registered.definition.asking
      return taken === undefined || asking === undefined ? Effect.void : Effect.asVoid(
        this.quietly("no person could be asked", askAbout(this.store, asking, taken.registered.context, stored))
      )
    }
    return Effect.flatMap(found, ({ due }) => Effect.forEach(due, about, { concurrency: 10, discard: true }))
  })
}

/** Starts a runner, which stops with the scope. */
export const make = Effect.fnUntraced(function*(
  store: Store,
  agents: Versions,
  changes: Changes,
  known: KnownConversations,
  options: RunnerOptions
): Effect.fn.Return<Runner, never, Scope.Scope> {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  // Executions end by `stop`, and not with the scope: they have their grace, and are given back.
  const scope = yield* Scope.make()
  const process: Process = { clock: yield* Clock.Clock, scope, fork: (effect) => void run(effect) }
  const runner = new LeasingRunner(store, agents, changes, known, options, process)
  const change = yield* Effect.provideService(changes.subscribe(wakeUp), Scope.Scope, scope)
  // Before the first claim: a wake-up after it is not missed.
  yield* store.listen((wakeUp) => {
    changes.receive(wakeUp)
    runner.receive(wakeUp)
  })
  const claims = yield* Effect.forkIn(runner.claiming(change), scope)
  yield* Effect.forkIn(runner.renewing, scope)
  // Leases are renewed while the runs come to their ends.
  yield* Effect.addFinalizer((exit) =>
    Effect.ensuring(
      // A fiber of its own: SIGTERM has interrupted this one, and its interruptible regions end at once.
      Effect.andThen(Fiber.interrupt(claims), Effect.flatMap(Effect.forkDetach(runner.stop), Fiber.await)),
      Scope.close(scope, exit)
    )
  )
  const { leases, start } = runner
  return { start, isOwned: (runId) => leases.has(runId) }
})
