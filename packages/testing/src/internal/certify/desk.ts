/** An agent that writes with and without a key, and waits for a person; and the invariants of its runs. */
import { Agent, Approval, IdempotencyLedger, Recovery, Runs, Tool, ToolCall } from "@recourse/core"
import { Durable } from "@recourse/durable"
import * as RunStore from "@recourse/durable/RunStore"
import { Effect, Layer, Schedule, Schema, Stream } from "effect"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { Differs, same } from "./broken.ts"

/** Deeds of a run: writes by seat, and keys of payments. */
class Deeds {
  readonly books: Array<string> = []
  readonly keys: Array<string | undefined> = []
}

const turns = [
  ScriptedModel.calls([
    { name: "look", params: {}, id: "c1" },
    { name: "book", params: { seat: "1A" }, id: "c2" },
    { name: "pay", params: {}, id: "c3" }
  ]),
  ScriptedModel.call("sign", {}, { id: "c4" }),
  ScriptedModel.call("book", { seat: "3C" }, { id: "c5" }),
  ScriptedModel.text("done")
]

/** The agent, with its tools and its model. */
export const deskOf = (name: string, version = "1") => {
  const deeds = new Deeds()
  const Look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("free") })
  const Book = Tool.make("book", {
    parameters: Schema.Struct({ seat: Schema.String }),
    success: Schema.String,
    effects: "write",
    execute: ({ seat }) => Effect.andThen(Effect.sync(() => deeds.books.push(seat)), Effect.succeed(seat))
  })
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    idempotency: true,
    execute: () =>
      Effect.map(ToolCall.ToolCall, ({ idempotencyKey }) => {
        deeds.keys.push(idempotencyKey)
        return "paid"
      })
  })
  const Sign = Tool.make("sign", {
    success: Schema.String,
    effects: "read",
    needsApproval: true,
    execute: () => Effect.succeed("signed")
  })
  const agent = Durable.make(
    Agent.make(name, { tools: [Look, Book, Pay, Sign], defaults: { onError: Recovery.keepGoing } }),
    { version }
  )
  const model = ScriptedModel.layer(({ prompt }) =>
    turns[prompt.content.filter(({ role }) => role === "assistant").length] ?? ScriptedModel.text("?")
  )
  return { agent, deeds, around: Layer.merge(model, IdempotencyLedger.layerMemory) }
}

/** An agent of {@link deskOf}. */
export type Desk = ReturnType<typeof deskOf>

const patiently = Schedule.spaced("10 millis")

/** Approves the waiting calls of a run, until it has ended. */
export const untilEnded = (runId: string): Effect.Effect<Runs.RunInfo, Differs, Runs.Runs> =>
  Effect.gen(function*() {
    const runs = yield* Runs.Runs
    for (;;) {
      const info = yield* Effect.retry(runs.get(runId), patiently)
      if (Runs.isEnded(info.status)) return info
      // A second decision, or one for a run that continued meanwhile, is refused.
      yield* Effect.ignore(runs.decide(runId, info.pending.map((call) => Approval.approve(call))))
      yield* Effect.sleep("5 millis")
    }
  }).pipe(
    Effect.timeout("20 seconds"),
    Effect.catch(() => Effect.fail(new Differs({ problem: `run ${runId} does not end within 20 seconds` })))
  )

/** Checks the invariants of an ended run, for any owner. */
export const check = (
  store: RunStore.Store,
  { agent, deeds }: Desk,
  info: Runs.RunInfo
): Effect.Effect<void, Differs | RunStore.RunStoreError> =>
  Effect.gen(function*() {
    const { runId } = info
    yield* same("the end of the run", { status: info.status, output: info.output }, {
      status: "completed",
      output: "done"
    })
    const [first, second] = yield* Effect.all([
      store.load({ runId, segment: 0 }),
      store.load({ runId, segment: 1 })
    ])
    const steps = [...first.steps, ...second.steps]
    const calls = steps.filter(({ kind }) => kind === "call")
    const unknown = calls.filter(({ value }) => JSON.stringify(value).includes("outcome_unknown")).length
    for (const seat of ["1A", "3C"]) {
      const times = deeds.books.filter((one) => one === seat).length
      if (times > 1) return yield* new Differs({ problem: `a write without a key was executed ${times} times` })
    }
    if (deeds.books.length + unknown < 2) {
      return yield* new Differs({ problem: "a write was not executed, and is not reported as unknown" })
    }
    yield* same("the keys of a payment", new Set(deeds.keys).size, 1)
    const ids = steps.map(({ key, kind }) => `${kind} ${key}`).filter((id) => !id.startsWith("told "))
    yield* same("steps that are recorded twice", ids.filter((id, at) => ids.indexOf(id) !== at), [])
    const events = yield* Effect.orDie(Effect.provide(
      Effect.flatMap(Runs.Runs, (runs) => Stream.runCollect(runs.events(runId))),
      Durable.layerClient([agent]).pipe(Layer.provide(Layer.succeed(RunStore.RunStore, store)))
    ))
    yield* same("numbers of events", events.map(({ number }) => number), events.map((_, at) => at))
    const ends = events.filter(({ event }) => event._tag === "RunFinished" && event.outcome !== "paused")
    yield* same("ends of the run", ends.length, 1)
  })
