/** Laws of logs: appended entries are read back, once, in order, and behind the fence. */
import { Effect, Exit, type Schema } from "effect"
import type * as RunStore from "@recourse/durable/RunStore"
import { type Differs, same } from "./broken.ts"

type Law = (store: RunStore.Store, runId: string) => Effect.Effect<void, Differs | RunStore.RunStoreError>

const values: ReadonlyArray<Schema.Json> = [
  null,
  "é\u0000\"'\\ \u2028 🙂",
  { b: [1, { a: "x" }], a: 1.5, "": true },
  -0.1,
  "x".repeat(20_000)
]

const owned = (store: RunStore.Store, runId: string) =>
  Effect.map(
    store.insert({ runId, agent: runId, version: "1", owner: undefined, input: values[2]!, leaseMillis: 60_000_000 }),
    ({ run }) => run
  )

const stepOf = ({ epoch, runId }: RunStore.Lease, position: number, value: Schema.Json): RunStore.Step => ({
  runId,
  epoch,
  segment: 0,
  position,
  kind: "call",
  key: `key ${position}`,
  value,
  elapsed: position,
  firstEvent: position * 2,
  events: [{ at: position, value }, { at: position, value: "second" }]
})

const readsBack: Law = (store, runId) =>
  Effect.gen(function*() {
    const run = yield* owned(store, runId)
    const steps = values.map((value, position) => stepOf(run, position, value))
    yield* same("steps that are added", yield* store.append(steps), steps.map(() => "added"))
    const loaded = yield* store.load({ runId, segment: 0 })
    yield* same("steps of the log", loaded.steps, steps)
    yield* same("its size", [loaded.positions, loaded.events, loaded.lastEpoch], [steps.length, steps.length * 2, 1])
    const ids = [4, 1, 99].map((position) => ({ runId, position }))
    const found = (yield* store.steps(ids)).map(({ position }) => position)
    yield* same("steps by position", found.toSorted(), [1, 4])
    yield* same("the input", (yield* store.get(runId))?.input, values[2])
    const events = yield* store.events(runId, 3)
    yield* same("events from a number on", events[0], { number: 3, event: { at: 1, value: "second" } })
    yield* same("their numbers", events.map(({ number }) => number), Array.from({ length: 7 }, (_, n) => n + 3))
  })

const addsOnce: Law = (store, runId) =>
  Effect.gen(function*() {
    const run = yield* owned(store, runId)
    const former = { ...run, epoch: 0 }
    const steps = [stepOf(run, 0, "a"), stepOf(former, 1, "b"), stepOf({ runId: `${runId} none`, epoch: 1 }, 0, "c")]
    yield* same("a batch of several owners", yield* store.append(steps), ["added", "lost", "lost"])
    yield* same("the same step again", yield* store.append([steps[0]!]), ["added"])
    yield* same("another step in its place", yield* store.append([{ ...steps[0]!, key: "other" }]), ["lost"])
    yield* store.settle(run, { status: "completed", pending: [], last: stepOf(run, 1, "end") })
    yield* same("a step behind the end", yield* store.append([stepOf(run, 2, "late")]), ["lost"])
    yield* same("steps of the log", (yield* store.load({ runId, segment: 0 })).positions, 2)
  })

const deniesWrites: Law = (store, runId) =>
  Effect.gen(function*() {
    const run = yield* owned(store, runId)
    const write = (position: number) => ({ ...stepOf(run, position, "w"), startsWrite: true as const })
    yield* same("a write", yield* store.append([write(0)]), ["added"])
    yield* store.cancel(runId)
    const steps = [write(1), stepOf(run, 2, "read")]
    yield* same("a write of a cancelled run", yield* store.append(steps), ["denied", "added"])
    yield* same("its answer once more", yield* store.append(steps), ["denied", "added"])
    const kinds = (yield* store.load({ runId, segment: 0 })).steps.map(({ kind }) => kind)
    yield* same("kinds of steps", kinds, ["call", "denied", "call"])
  })

const keepsSignals: Law = (store, runId) =>
  Effect.gen(function*() {
    yield* owned(store, runId)
    yield* same("a signal that has not come", (yield* store.signalled(runId, "s")) ?? "none", "none")
    yield* same("the first signal", yield* store.signal(runId, "s", values[1]!), true)
    yield* same("the second signal", yield* store.signal(runId, "s", "other"), false)
    yield* same("the signal", yield* store.signalled(runId, "s"), { value: values[1] })
    yield* same("a signal of another name", (yield* store.signalled(runId, "S")) ?? "none", "none")
  })

const keepsMessages: Law = (store, runId) =>
  Effect.gen(function*() {
    const ids = [1, 2, 3].map((n) => `${runId} ${n}`)
    const insert = (id: string, count: number) =>
      store.insert({
        runId: id,
        agent: runId,
        version: "1",
        owner: "ada",
        input: {},
        leaseMillis: 60_000_000,
        conversation: { ids: ids.slice(0, count), messages: ids.slice(0, count).map((said) => ({ said })) }
      })
    yield* insert(runId, 2)
    yield* insert(`${runId} next`, 3)
    const said = (parts: ReadonlyArray<RunStore.MessagePart>) => parts.flatMap(({ messages }) => messages)
    yield* same("messages of a run", said(yield* store.messages(runId)), ids.slice(0, 2).map((said) => ({ said })))
    const next = yield* store.messages(`${runId} next`)
    yield* same("messages of a run that continues it", said(next), ids.map((said) => ({ said })))
  })

const commits: Law = (store, runId) =>
  Effect.gen(function*() {
    const { transaction } = store
    if (transaction === undefined) return
    const run = yield* owned(store, runId)
    const options = (position: number, hold: RunStore.Lease = run) => ({
      stepOf: () => Effect.succeed(stepOf(hold, position, "committed")),
      onFate: () => undefined
    })
    const committed = yield* transaction(Effect.succeed("value"), options(0))
    yield* same("a transaction", committed, { _tag: "Committed", value: "value" })
    const failed = yield* Effect.exit(transaction(Effect.fail("no"), options(1)))
    yield* same("a transaction that fails", Exit.isFailure(failed), true)
    yield* same(
      "a transaction of a former owner",
      yield* transaction(Effect.succeed("late"), options(1, { runId, epoch: 0 })),
      {
        _tag: "Lost"
      }
    )
    yield* same("steps of the log", (yield* store.load({ runId, segment: 0 })).positions, 1)
  })

/** The laws, by name. */
export const logLaws = {
  log_is_read_back: readsBack,
  steps_are_added_once: addsOnce,
  cancelled_runs_start_no_write: deniesWrites,
  first_signal_stays: keepsSignals,
  conversations_are_shared: keepsMessages,
  transactions_commit_with_their_step: commits
} as const satisfies Readonly<Record<string, Law>>
