/** Executions of runs by processes that lose their host, their runs or their wake-ups, and by processes of another version. */
import { Runs } from "@recourse/core"
import { Durable } from "@recourse/durable"
import * as RunStore from "@recourse/durable/RunStore"
import { Context, Effect, Layer, Logger, Scope } from "effect"
import { type Differs, same } from "./broken.ts"
import { check, type Desk, deskOf, untilEnded } from "./desk.ts"

type Checked = Effect.Effect<void, Differs | RunStore.RunStoreError>

/** Disturbs a process before or behind one of its operations on a run that it owns. Returns whether the operation came. */
interface Disturbed {
  readonly store: RunStore.Store
  readonly count: () => number
}

const disturbed = (
  store: RunStore.Store,
  around: <A>(
    operation: number,
    hold: RunStore.Lease,
    effect: Effect.Effect<A, RunStore.RunStoreError>
  ) => Effect.Effect<A, RunStore.RunStoreError>
): Disturbed => {
  let operations = 0
  const one = <A>(hold: RunStore.Lease, effect: Effect.Effect<A, RunStore.RunStoreError>) =>
    Effect.suspend(() => around(++operations, hold, effect))
  return {
    count: () => operations,
    store: {
      ...store,
      load: (run) => run.epoch === undefined ? store.load(run) : one({ ...run, epoch: run.epoch }, store.load(run)),
      append: (steps) => steps[0] === undefined ? store.append(steps) : one(steps[0], store.append(steps)),
      settle: (hold, leaving) => one(hold, store.settle(hold, leaving))
    }
  }
}

const poll = "10 millis"

/** A process that executes runs of an agent, until the scope is closed. */
const processOf = (
  store: RunStore.Store,
  { agent, around }: Desk,
  options: Durable.RunnerOptions = {}
): Effect.Effect<Runs.RunsService, never, Scope.Scope> =>
  Effect.map(
    Layer.build(
      Layer.fresh(Durable.layer([agent], { poll, grace: 1, lease: "1 minute", ...options })).pipe(
        Layer.provide([Layer.succeed(RunStore.RunStore, store), around])
      )
    ),
    (context) => Context.get(context, Runs.Runs)
  )

/** The desk with one ledger for all its processes. */
const sharedDesk = (name: string, version?: string): Effect.Effect<Desk, never, Scope.Scope> => {
  const desk = deskOf(name, version)
  return Effect.map(Layer.build(desk.around), (context) => ({ ...desk, around: Layer.succeedContext(context) }))
}

/** Logs of a failing host are no part of the law. */
const quiet = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.scoped(Effect.provide(effect, Logger.layer([])))

const start = (runs: Runs.RunsService, { agent }: Desk, runId: string) =>
  Effect.orDie(Effect.provideService(agent.start(runId, "go"), Runs.Runs, runs))

const ended = (runs: Runs.RunsService, runId: string) => Effect.provideService(untilEnded(runId), Runs.Runs, runs)

/** A second process, which begins when the first one is disturbed. */
const secondOf = Effect.fnUntraced(function*(store: RunStore.Store, desk: Desk, options?: Durable.RunnerOptions) {
  const scope = yield* Effect.scope
  let isThere = false
  return Effect.suspend(() => {
    if (isThere) return Effect.void
    isThere = true
    return Effect.asVoid(Effect.provideService(processOf(store, desk, options), Scope.Scope, scope))
  })
})

/**
 * Transfers a run to another process at an operation of its owner, which stays alive: before the operation, or behind
 * it. Returns whether the owner had so many operations.
 */
export const ownerChanges = (
  store: RunStore.Store,
  name: string,
  at: number,
  isBehind: boolean
): Effect.Effect<boolean, Differs | RunStore.RunStoreError> =>
  quiet(Effect.gen(function*() {
    const desk = yield* sharedDesk(name)
    const second = yield* secondOf(store, desk)
    const isTaken = ({ epoch, runId }: RunStore.Lease) =>
      Effect.map(store.get(runId), (run) => run === undefined || run.epoch > epoch || run.status !== "queued")
    const change = (hold: RunStore.Lease): Effect.Effect<void, RunStore.RunStoreError> =>
      Effect.flatMap(Effect.andThen(second, store.settle(hold, { status: "queued" })), (isGiven) =>
        isGiven
          ? Effect.ignore(Effect.timeout(
            Effect.repeat(Effect.delay(isTaken(hold), "2 millis"), { until: (taken) => taken }),
            "5 seconds"
          ))
          : Effect.void)
    const { count, store: seen } = disturbed(store, (operation, hold, effect) =>
      operation !== at
        ? effect
        : isBehind
        ? Effect.tap(effect, () => change(hold))
        : Effect.andThen(change(hold), effect))
    const first = yield* processOf(seen, desk)
    yield* start(first, desk, name)
    yield* check(store, desk, yield* ended(first, name))
    return count() >= at
  }))

/** A process whose host fails from one of its operations on: before the operation, or behind it. Another one takes its run over. */
export const hostFails = (
  store: RunStore.Store,
  name: string,
  at: number,
  isBehind: boolean
): Effect.Effect<boolean, Differs | RunStore.RunStoreError> =>
  quiet(Effect.gen(function*() {
    const lease = { lease: "250 millis" } as const
    const desk = yield* sharedDesk(name)
    const second = yield* secondOf(store, desk, lease)
    const gone = Effect.fail(new RunStore.RunStoreError({ operation: "certify", reason: "gone" }))
    const { count, store: seen } = disturbed(store, (operation, _hold, effect) => {
      if (operation < at) return effect
      return Effect.andThen(second, operation === at && isBehind ? Effect.andThen(effect, gone) : gone)
    })
    const take: RunStore.Store["take"] = (wanted) => Effect.suspend(() => count() >= at ? gone : store.take(wanted))
    const first = yield* processOf({ ...seen, take }, desk, lease)
    yield* start(first, desk, name)
    yield* check(store, desk, yield* ended(first, name))
    return count() >= at
  }))

/** No process hears a wake-up, and the row of the run comes without one. */
export const wakeUpsAreLost = (store: RunStore.Store, name: string): Checked =>
  quiet(Effect.gen(function*() {
    const desk = yield* sharedDesk(name)
    const deaf: RunStore.Store = { ...store, listen: () => Effect.void }
    const runs = yield* processOf(deaf, desk)
    const { agent, version } = { agent: desk.agent.name, version: "1" }
    yield* store.insert({ runId: name, agent, version, owner: undefined, input: "go" })
    yield* check(store, desk, yield* ended(runs, name))
  }))

/** Processes of another agent, and of another version, leave a run alone until a process comes that has it. */
export const mixedFleet = (store: RunStore.Store, name: string): Checked =>
  quiet(Effect.gen(function*() {
    const desk = yield* sharedDesk(name)
    const others = [yield* sharedDesk(`${name} other`), yield* sharedDesk(name, "2")]
    for (const other of others) yield* processOf(store, other)
    yield* store.insert({ runId: name, agent: name, version: "1", owner: undefined, input: "go" })
    yield* Effect.sleep("50 millis")
    const left = yield* store.get(name)
    yield* same("a run without its process", { status: left?.status, epoch: left?.epoch }, {
      status: "queued",
      epoch: 0
    })
    yield* check(store, desk, yield* ended(yield* processOf(store, desk), name))
    yield* same("deeds of other versions", others.flatMap(({ deeds }) => deeds.books), [])
  }))

/** A run that another process cancels ends, whether its owner hears of it or polls; after that it starts no write. */
export const cancelsAreHeard = (store: RunStore.Store, name: string, isDeaf: boolean): Checked =>
  quiet(Effect.gen(function*() {
    const desk = yield* sharedDesk(name)
    const seen: RunStore.Store = isDeaf ? { ...store, listen: () => Effect.void } : store
    const runs = yield* processOf(seen, desk)
    yield* start(runs, desk, name)
    yield* store.cancel(name)
    const { status } = yield* ended(runs, name)
    const before = desk.deeds.books.length
    yield* Effect.sleep("20 millis")
    yield* same("writes behind a cancellation", desk.deeds.books.length, before)
    yield* same("the end of a cancelled run", status, "cancelled")
  }))
