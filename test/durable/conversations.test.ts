/** Runs of one conversation: each reader has whole events, inputs and outputs, also after the runs before were deleted. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentEvent, Approval, EventJson, History, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Clock, Context, Effect, Exit, Layer, Schema, Scope, Stream } from "effect"
import { Prompt } from "effect/ai"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"

const { call, text } = ScriptedModel
const long = (what: string): string => `${what} `.repeat(40)

const Look = Tool.make("look", {
  parameters: Schema.Struct({ at: Schema.String }),
  success: Schema.Unknown,
  effects: "read",
  execute: ({ at }) =>
    Effect.succeed({ seen: `${at} is ${long("blue")}`, "~text": [0, 0], list: [{ "~said": [0, 1] }] })
})
const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ to: Schema.String }),
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: ({ to }) => Effect.succeed(`paid ${to}`)
})

const options = {
  instructions: long("You are a clerk."),
  input: Prompt.Prompt,
  prompt: (conversation: Prompt.Prompt) => conversation,
  defaults: { onError: Recovery.keepGoing }
} as const
const agent = Agent.make("clerk", { ...options, tools: [Look, Pay] })
const Clerk = Durable.make(agent, { input: Prompt.Prompt })
const compacting = Agent.make("short", {
  ...options,
  tools: [Look],
  compact: { maxTokens: 400, by: History.keepLast(2) }
})
const Short = Durable.make(compacting, { input: Prompt.Prompt })

const asking = (turns: ReadonlyArray<ScriptedModel.Turn>) => ScriptedModel.layer(turns)

/** A process that runs the agents, with no memory of earlier ones. */
const processOf = (store: RunStore.Store, turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.map(
    Layer.build(
      Layer.fresh(
        Durable.layer([Clerk, Short], { lease: "1 second", poll: "20 millis", grace: "1 millis" }).pipe(
          Layer.provide([Layer.succeed(RunStore.RunStore, store), asking(turns)])
        )
      )
    ),
    (context) => Context.get(context, Runs.Runs)
  )

const within = <A, E>(
  store: RunStore.Store,
  turns: ReadonlyArray<ScriptedModel.Turn>,
  use: (runs: Runs.RunsService) => Effect.Effect<A, E, Runs.Runs>
) => Effect.scoped(Effect.flatMap(processOf(store, turns), (runs) => Effect.provideService(use(runs), Runs.Runs, runs)))

const all = (runs: Runs.RunsService, runId: string) =>
  Effect.map(Stream.runCollect(runs.events(runId)), (events) => events.map(({ event }) => event))

const until = (runs: Runs.RunsService, runId: string, outcome: string) =>
  Stream.runCollect(Stream.takeUntil(
    runs.events(runId),
    ({ event }) => event._tag === "RunFinished" && event.outcome === outcome
  ))

const transcriptOf = (events: ReadonlyArray<AgentEvent.AgentEvent>): Prompt.Prompt =>
  events.flatMap((event) => event._tag === "RunFinished" ? [event.transcript] : []).at(-1)!

/** The conversation behind a run, without instructions. */
const behind = (events: ReadonlyArray<AgentEvent.AgentEvent>): Prompt.Prompt =>
  Prompt.fromMessages(transcriptOf(events).content.filter(({ role }) => role !== "system"))

/** Events without times, ids and pieces of text. */
const plain = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.filter(({ _tag }) => _tag !== "TextDelta").map((event) => {
    const { agentRunId: _agentRun, at: _at, runId: _run, sequence: _sequence, ...left } = EventJson.encode(
      event
    ) as Record<
      string,
      unknown
    >
    return left
  })

/** Events that a listener receives of a run that is not durable. */
const heardOf = (
  one: Agent.Agent<Prompt.Prompt, string>,
  prompt: Prompt.Prompt,
  turns: ReadonlyArray<ScriptedModel.Turn>
) => {
  const heard: Array<AgentEvent.AgentEvent> = []
  return one.run(prompt, { streaming: true }).pipe(
    Effect.provide([asking(turns), AgentEvent.listen((event) => Effect.sync(() => void heard.push(event)))]),
    Effect.provideService(AgentEvent.Details, true),
    Effect.as(heard)
  )
}

type Place = Effect.Effect<
  { readonly store: RunStore.Store; readonly rows: Effect.Effect<number, unknown> },
  unknown,
  Scope.Scope
>

const memory: Place = Effect.map(
  Layer.build(Layer.fresh(RunStore.layerMemory)),
  (context) => ({ store: Context.get(context, RunStore.RunStore), rows: Effect.succeed(0) })
)

const database = ({ open }: (typeof sqlDatabases)[number]): Place =>
  Effect.gen(function*() {
    const { address } = yield* Effect.acquireRelease(Effect.promise(open), ({ close }) => Effect.promise(close))
    const context = yield* Layer.build(RunStore.layerSql().pipe(Layer.provideMerge(sqlLayer(address))))
    const sql = Context.get(context, SqlClient.SqlClient)
    return {
      store: Context.get(context, RunStore.RunStore),
      rows: Effect.map(
        sql<{ readonly count: number | string }>`SELECT COUNT(*) AS count FROM recourse_messages`,
        ([row]) => Number(row!.count)
      )
    }
  })

const places = [
  { name: "memory", place: memory },
  ...sqlDatabases.filter(({ name }) => !name.startsWith("M")).map((one) => ({ name: one.name, place: database(one) }))
]

const answers = [call("look", { at: long("the sky") }, { id: "c1" }), text(long("It is blue."))]

for (const { name, place } of places) {
  describe(`runs of one conversation: ${name}`, () => {
    it.live("have the events, the input and the output that a listener hears", () =>
      Effect.gen(function*() {
        const { store } = yield* place
        for (const [durable, one] of [[Clerk, agent], [Short, compacting]] as const) {
          let prompt = Prompt.empty
          for (let n = 0; n < 3; n++) {
            prompt = Prompt.concat(prompt, `${long("Which colour has it?")} ${n}`)
            const runId = `${one.name} ${n}`
            const output = yield* within(store, answers, () => durable.run(runId, prompt))
            assert.strictEqual(output, long("It is blue."))
            const heard = yield* heardOf(one as unknown as Agent.Agent<Prompt.Prompt, string>, prompt, answers)
            // A process that has not run it.
            const events = yield* within(store, [], (runs) => all(runs, runId))
            assert.deepStrictEqual(plain(events), plain(heard))
            // The same input joins the run, another one does not.
            yield* within(store, [], () => durable.start(runId, prompt))
            const other = yield* within(store, [], () => Effect.flip(durable.start(runId, Prompt.concat(prompt, "!"))))
            assert.strictEqual(other._tag, "RunConflict")
            prompt = behind(events)
          }
        }
      }))

    it.live("resume in another process after a pause, and recover after a kill", () =>
      Effect.gen(function*() {
        const { store } = yield* place
        const first = Prompt.concat(Prompt.empty, long("Good day."))
        // Started by a process that executes no runs.
        yield* Effect.scoped(Effect.flatMap(
          Layer.build(
            Layer.fresh(Durable.layerClient([Clerk])).pipe(Layer.provide(Layer.succeed(RunStore.RunStore, store)))
          ),
          (client) => Effect.provideContext(Clerk.start("m0", first), client)
        ))
        yield* within(store, [text(long("Good day to you."))], () => Clerk.await("m0"))
        const before = behind(yield* within(store, [], (runs) => all(runs, "m0")))
        const prompt = Prompt.concat(before, "Look, and pay")
        const killed = yield* Scope.make()
        const runs = yield* Scope.provide(
          processOf(store, [answers[0]!, ScriptedModel.delay("1 hour", text("never"))]),
          killed
        )
        yield* Effect.provideService(Clerk.start("m1", prompt), Runs.Runs, runs)
        yield* Stream.runCollect(Stream.takeUntil(runs.events("m1"), ({ event }) => event._tag === "ToolResult"))
        yield* Scope.close(killed, Exit.void)
        yield* within(store, [call("pay", { to: long("Ada") }, { id: "p" })], (runs) => until(runs, "m1", "paused"))
        const { events, read } = yield* within(store, [text(long("It is paid."))], (runs) =>
          Effect.gen(function*() {
            const { pending } = yield* Clerk.poll("m1")
            yield* Clerk.decide("m1", pending.map((one) => Approval.approve(one, { by: "ada" })))
            assert.strictEqual(yield* Clerk.await("m1"), long("It is paid."))
            return { events: yield* all(runs, "m1"), read: yield* runs.list({ agent: "clerk" }) }
          }))
        const roles = ["user", "assistant", "user", "assistant", "tool", "assistant", "tool", "assistant"]
        assert.deepStrictEqual(behind(events).content.map(({ role }) => role), roles)
        assert.deepStrictEqual(behind(events).content.slice(0, 2), before.content)
        assert.deepStrictEqual(read.map(({ output }) => output), [long("It is paid."), long("Good day to you.")])
        // The pause stores the conversation by reference, too.
        const stored = yield* store.get("m1")
        assert.include(JSON.stringify(stored!.snapshot), "~said")
        assert.notInclude(JSON.stringify(stored!.snapshot), "Good day to you.")
        assert.include(JSON.stringify(transcriptOf(events)), "Good day to you.")
      }))

    it.live("keep their conversation when the runs before them are deleted", () =>
      Effect.gen(function*() {
        const { rows, store } = yield* place
        let prompt = Prompt.empty
        for (const n of [0, 1, 2]) {
          prompt = Prompt.concat(prompt, `${long("Good day")} ${n}`)
          yield* within(store, [text(long(`answer ${n}`))], () => Clerk.run(`m${n}`, prompt))
          prompt = behind(yield* within(store, [], (runs) => all(runs, `m${n}`)))
        }
        // A branch: the second message was edited.
        const edited = Prompt.concat(Prompt.fromMessages(prompt.content.slice(0, 2)), "Another message")
        for (const [id, said] of [["waiting", Prompt.concat(prompt, "Pay")], ["edited", edited]] as const) {
          yield* within(store, [call("pay", { to: "Ada" }, { id: "p" })], (runs) =>
            Effect.andThen(Clerk.start(id, said), until(runs, id, "paused")))
        }
        assert.strictEqual(yield* store.purge(-1000), 3)
        assert.isUndefined(yield* store.get("m0"))
        for (const [id, said] of [["waiting", Prompt.concat(prompt, "Pay")], ["edited", edited]] as const) {
          const events = yield* within(store, [text("Paid.")], (runs) =>
            Effect.gen(function*() {
              const { pending } = yield* Clerk.poll(id)
              yield* Clerk.decide(
                id,
                pending.map((one) =>
                  Approval.approve(one, { by: "ada" })
                )
              )
              yield* Clerk.await(id)
              return yield* all(runs, id)
            }))
          assert.deepStrictEqual(behind(events).content.slice(0, said.content.length), said.content)
        }
        // A new run continues messages whose run is deleted.
        yield* within(store, [text("Yes.")], () => Clerk.run("next", Prompt.concat(prompt, "Still there?")))
        const parts = yield* store.messages("next")
        assert.deepStrictEqual(parts.slice(-2).map(({ runId }) => runId), ["next", "next"])
        assert.isTrue(parts.length > 2 && parts[0]!.runId !== "next")
        assert.strictEqual(yield* store.purge(-1000), 3)
        assert.strictEqual(yield* rows, 0)
      }))

    it.live("start while the runs that they continue are deleted", () =>
      Effect.gen(function*() {
        const { store } = yield* place
        const encode = Schema.encodeEffect(Schema.toCodecJson(Prompt.Prompt))
        const waiting = new Map<string, Prompt.Prompt>()
        const turns = [text("Yes."), call("pay", { to: "Ada" }, { id: "p" })]
        const begun = Effect.gen(function*() {
          let prompt = Prompt.empty
          for (let n = 0; n < 15; n++) {
            prompt = Prompt.concat(prompt, `${long("Message")} ${n}`)
            const longer = Prompt.concat(prompt, "Pay")
            waiting.set(`w${n}`, longer)
            yield* within(store, turns, (runs) =>
              Effect.gen(function*() {
                // It may be deleted before its end is read.
                yield* Effect.catchTag(Clerk.run(`e${n}`, prompt), "UnknownRun", () => Effect.void)
                yield* Clerk.start(`w${n}`, longer)
                yield* until(runs, `w${n}`, "paused")
              }))
          }
        })
        const purging = Effect.forever(Effect.andThen(store.purge(-1000), Effect.sleep("1 millis")))
        yield* Effect.raceFirst(begun, Effect.all([purging, purging], { concurrency: 2 }))
        for (const [id, prompt] of waiting) {
          const events = yield* within(store, [], (runs) => until(runs, id, "paused"))
          const [first] = events.map(({ event }) => event)
          assert.deepStrictEqual(first?._tag === "RunStarted" ? first.input : undefined, yield* encode(prompt))
        }
      }))

    it.live("of two owners share no data", () =>
      Effect.gen(function*() {
        const { store } = yield* place
        const prompt = Prompt.concat(Prompt.concat(Prompt.empty, long("My secret")), "Hello")
        const longer = Prompt.concat(prompt, "Hello again")
        for (
          const [id, owner, said] of [["a1", "ada", prompt], ["b1", "bob", longer], ["a2", "ada", longer]] as const
        ) {
          yield* within(store, [text("Yes.")], () => Effect.andThen(Clerk.start(id, said, { owner }), Clerk.await(id)))
        }
        const runsOf = (id: string) => Effect.map(store.messages(id), (parts) => parts.map(({ runId }) => runId))
        assert.deepStrictEqual(yield* runsOf("b1"), ["b1", "b1"])
        assert.deepStrictEqual(yield* runsOf("a2"), ["a1", "a2", "a2"])
      }))
  })
}

describe("rows of the previous version with whole conversations", () => {
  type Row = Record<string, string | number | null>
  const { recourse_runs: runRows, recourse_steps: stepRows } = JSON.parse(
    readFileSync(new URL("rows/wholeConversations.json", import.meta.url), "utf8")
  ) as { readonly recourse_runs: ReadonlyArray<Row>; readonly recourse_steps: ReadonlyArray<Row> }
  const OldLook = Tool.make("look", {
    success: Schema.String,
    effects: "read",
    execute: () => Effect.succeed("It is blue.")
  })
  const OldPay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.succeed("paid")
  })
  const Old = Durable.make(
    Agent.make("clerk", { ...options, instructions: "You are a clerk.", tools: [OldLook, OldPay] }),
    { input: Prompt.Prompt }
  )

  /** The clock of the day of the rows: an approval of theirs is valid for a day, and their snapshots are signed. */
  const thatDay = Effect.clockWith((clock): Effect.Effect<Clock.Clock> => {
    const since = clock.currentTimeMillisUnsafe() - Math.max(...runRows.map((row) => Number(row["updated_at"])))
    const millis = () => clock.currentTimeMillisUnsafe() - since
    return Effect.succeed({
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
      currentTimeNanos: clock.currentTimeNanos,
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    })
  })

  for (const one of sqlDatabases.filter(({ name }) => !name.startsWith("M"))) {
    it.live(`are read, resumed and recovered: ${one.name}`, () =>
      Effect.gen(function*() {
        const { address } = yield* Effect.acquireRelease(Effect.promise(one.open), ({ close }) => Effect.promise(close))
        const context = yield* Layer.build(RunStore.layerSql().pipe(Layer.provideMerge(sqlLayer(address))))
        const sql = Context.get(context, SqlClient.SqlClient)
        for (const row of runRows) yield* sql`INSERT INTO recourse_runs ${sql.insert(row)}`
        for (const row of stepRows) yield* sql`INSERT INTO recourse_steps ${sql.insert(row)}`
        const model = ({ prompt }: ScriptedModel.Request) => {
          const last = prompt.content.at(-1)!
          return text(last.role === "tool" ? "Done." : "?")
        }
        const runs = Context.get(
          yield* Layer.build(
            Durable.layer([Old], { poll: "20 millis" }).pipe(
              Layer.provide(ScriptedModel.layer(model)),
              Layer.provide(Layer.succeedContext(context))
            )
          ),
          Runs.Runs
        )
        const done = yield* Effect.gen(function*() {
          const ended = yield* all(runs, "m1")
          assert.deepStrictEqual(behind(ended).content.map(({ role }) => role), [
            "user",
            "assistant",
            "user",
            "assistant",
            "tool",
            "assistant"
          ])
          assert.strictEqual((yield* runs.get("m1")).output, "It is as blue as the sky above the sea in the summer.")
          // The run whose process died continues behind its recorded call.
          assert.strictEqual(yield* Old.await("m3"), "Done.")
          const { pending } = yield* Old.poll("m2")
          yield* Old.decide("m2", pending.map((call) => Approval.approve(call, { by: "ada" })))
          assert.strictEqual(yield* Old.await("m2"), "Done.")
          // A new run continues the conversation, and the same input joins the run of the version before.
          yield* Old.run("m4", Prompt.concat(behind(ended), "Thanks"))
          const first = Prompt.concat(Prompt.empty, "Good day")
          assert.isFalse((yield* Old.start("m0", first, { owner: "ada" })).isNew)
          return yield* all(runs, "m3")
        }).pipe(Effect.provideService(Runs.Runs, runs))
        assert.deepStrictEqual(behind(done).content.map(({ role }) => role).slice(-3), [
          "assistant",
          "tool",
          "assistant"
        ])
        assert.isTrue(done.filter(({ _tag }) => _tag === "ToolResult").length === 1)
      }).pipe(Effect.provideServiceEffect(Clock.Clock, thatDay)))
  }
})
