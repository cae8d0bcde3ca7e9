/** Resumptions of agents made of agents: usage, ids, decisions and failures. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Data, Effect, Exit, Schema, SchemaGetter } from "effect"
import { Agent, Approval, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { collect } from "../support/kit.ts"
import { Note } from "../support/refundTools.ts"
import { cases, clerk, fn, key, models, play, refund, stored } from "../support/composedAgents.ts"

const { call, calls, text } = ScriptedModel

const paused = (outcome: Approval.Outcome<unknown>): Approval.Paused => {
  assert.strictEqual(outcome._tag, "Paused")
  return outcome as Approval.Paused
}

const approved = ({ pending, snapshot }: Approval.Paused, ...ids: ReadonlyArray<string>) =>
  [
    stored(snapshot),
    pending.filter(({ callId }) => ids.length === 0 || ids.includes(callId)).map((call) => Approval.approve(call))
  ] as const

class Down extends Data.TaggedError("Down") {}

const slow = Agent.fromFunction("slow", (_: string): Effect.Effect<string, Down> =>
  Effect.gen(function*() {
    for (let n = 0; n < 2_000; n++) yield* Effect.yieldNow
    return yield* Effect.fail(new Down())
  }))

const down = Agent.fromFunction("down", (_: string): Effect.Effect<string, Down> => Effect.fail(new Down()))

describe("over the pause of an agent made of agents", () => {
  it.effect("`run` and `stream` fail with the whole snapshot, `report` has it", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = clerk(log, "first").pipe(Agent.andThen(clerk(log)))
      const error = yield* Effect.flip(agent.run("x"))
      assert.strictEqual(error._tag, "ApprovalRequired")
      assert.strictEqual((error as Approval.ApprovalRequired).agent, "first > clerk")
      const { pending, snapshot } = error as Approval.ApprovalRequired
      const outcome = yield* agent.resume(stored(snapshot), pending.map((call) => Approval.approve(call)))
      assert.deepStrictEqual(outcome, new Approval.Completed<string>({ output: "paid" }))
      assert.deepStrictEqual(log, ["refund A 500"])
      const again = yield* Effect.flip(agent.resume(stored(snapshot), []))
      assert.propertyVal(again, "reason", "used")
    }).pipe(Effect.provide([key, models({ first: [text("go")], clerk: [refund("A"), text("paid")] })])))

  it.effect("continues usage, executions and run ids, with matched starts and ends", () =>
    Effect.gen(function*() {
      const { events } = yield* play(cases["loopUntil, in the second round"]!)
      const ids = events.flatMap((event) => event._tag === "AgentStarted" ? [event.agentRunId.split("/").slice(1)] : [])
      assert.deepStrictEqual(ids, [["clerk"], ["clerk#2"], ["clerk#2"]])
      const last = events.at(-1)
      assert.strictEqual(last?._tag, "RunFinished")
      if (last?._tag === "RunFinished") assert.deepInclude(last.usage, { turns: 4, toolCalls: 2 })
      assert.strictEqual(
        events.filter(({ _tag }) => _tag === "AgentStarted").length,
        events.filter(({ _tag }) => _tag === "AgentFinished").length
      )
      assert.deepStrictEqual(new Set(events.map(({ runId }) => runId)).size, 1)
    }))

  it.effect("gives runs of one agent own keys, also after earlier executions", () =>
    Effect.gen(function*() {
      const keys: Array<string | undefined> = []
      const pay = (needsApproval: boolean) =>
        Tool.make(needsApproval ? "ask" : "pay", {
          effects: "write",
          idempotency: true,
          needsApproval,
          execute: () => Effect.map(ToolCall.ToolCall, ({ idempotencyKey }) => void keys.push(idempotencyKey))
        })
      const agent = Agent.make("payer", {
        instructions: "payer",
        tools: [pay(true), pay(false)],
        defaults: { onError: Recovery.standard }
      }).pipe(Agent.loopUntil((out) => out === "payer three", { times: 5 }))
      const outcome = yield* agent.start("payer one")
      const ended = yield* agent.resume(...approved(paused(outcome)))
      assert.deepInclude(ended, { _tag: "Completed", output: "payer three" })
      assert.strictEqual(keys.length, 4)
      assert.strictEqual(new Set(keys).size, 4)
    }).pipe(Effect.provide([
      key,
      IdempotencyLedger.layerMemory,
      models({
        "payer one": [call("pay", {}, { id: "c" }), text("payer two")],
        "payer two": [call("ask", {}, { id: "c" }), call("pay", {}, { id: "d" }), text("payer then")],
        "payer then": [call("pay", {}, { id: "c" }), text("payer three")]
      })
    ])))

  it.effect("keeps undecided calls pending, and reports rejections to their own agent", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () => Agent.all("all", [clerk(log, "a"), clerk(log, "b")])
      const first = paused(yield* agent().start("x"))
      const second = paused(yield* agent().resume(...approved(first, "b/r")))
      assert.deepStrictEqual(second.pending.map(({ callId }) => callId), ["a/r"])
      assert.deepStrictEqual(log, ["refund A 500"])
      const refused = yield* Effect.flip(
        agent().resume(stored(second.snapshot), [{ ...Approval.approve(second.pending[0]!), argumentsHash: "0" }])
      )
      assert.deepInclude(refused, { _tag: "DecisionRefused", callId: "a/r" })
      const other = yield* Effect.flip(
        Agent.all("all", [clerk(log, "a"), clerk(log, "c")]).resume(stored(second.snapshot), [])
      )
      assert.propertyVal(other, "reason", "tools_changed")
      const ended = yield* agent().resume(stored(second.snapshot), [Approval.reject(second.pending[0]!, "no")])
      assert.deepStrictEqual(ended, new Approval.Completed({ output: ["done", "done"] as const }))
      assert.deepStrictEqual(log, ["refund A 500"])
    }).pipe(Effect.provide([key, models({ a: [refund("A"), text("done")], b: [refund("A"), text("done")] })])))

  it.effect("a parallel failure withdraws the question, live and from a snapshot", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      const late = clerk(log, "late").pipe(Agent.andThen(down))
      const agent = Agent.all("all", [clerk(log), late])
      const outcome = yield* agent.start("x").pipe(Effect.provide(layer))
      const pause = paused(outcome)
      assert.deepStrictEqual(pause.pending.map(({ callId }) => callId), ["clerk/r", "late > down/late/r"])
      const error = yield* Effect.flip(
        agent.resume(...approved(pause, "late > down/late/r")).pipe(Effect.provide(layer))
      )
      assert.strictEqual(error._tag, "Down")
      const results = events.flatMap((event) =>
        event._tag === "ToolResult" ? [[event.path.at(-1), event.isFailure]] : []
      )
      assert.deepStrictEqual(results, [["late", false], ["clerk", true]])
      const live = yield* Effect.flip(Agent.all("both", [clerk(log), slow]).start("x").pipe(Effect.provide(layer)))
      assert.strictEqual(live._tag, "Down")
      assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "ToolResult").length, 3)
    }).pipe(Effect.provide([key, models({ clerk: [refund("A"), text("done")], late: [refund("A"), text("done")] })])))

  it.effect("excludes a step that failed before the pause from the best", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let n = 0
      const some = Agent.fromFunction(
        "some",
        (text: string) =>
          Effect.suspend((): Effect.Effect<string, Down> => n++ === 0 ? Effect.fail(new Down()) : Effect.succeed(text))
      ).pipe(Agent.andThen(clerk(log)))
      const agent = some.pipe(Agent.vote(2))
      const outcome = yield* agent.start("x")
      const ended = yield* agent.resume(...approved(paused(outcome)))
      assert.deepInclude(ended, { _tag: "Completed", output: "done" })
      assert.strictEqual(n, 2)
    }).pipe(Effect.provide([key, models({ clerk: [refund("A"), text("done")] })])))

  it.effect("orders waiting calls by their steps, not by time", () =>
    Effect.gen(function*() {
      const slow = Agent.fromFunction(
        "slow",
        (input: string) => Effect.promise(() => new Promise<string>((resolve) => setTimeout(() => resolve(input), 25)))
      )
      const agent = Agent.all("all", [slow.pipe(Agent.andThen(clerk([], "a"))), clerk([], "b")])
      const waits = paused(
        yield* agent.start("clerk one").pipe(Effect.provide(models({ a: [refund("A")], b: [refund("B")] })))
      )
      assert.deepStrictEqual(waits.pending.map(({ callId }) => callId), ["slow > a/a/r", "b/r"])
    }).pipe(Effect.provide(key)))

  it.effect("is itself a tool that waits, and a step", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const both = clerk(log, "first").pipe(Agent.andThen(clerk(log)))
      const Both = both.pipe(
        Agent.asTool("both", {
          description: "",
          parameters: Schema.Struct({ task: Schema.String }).pipe(
            Schema.decodeTo(Schema.String, {
              decode: SchemaGetter.transform(({ task }) => task),
              encode: SchemaGetter.transform((task) => ({ task }))
            })
          ),
          success: Schema.String,
          effects: "write"
        })
      )
      const boss = Agent.make("boss", {
        instructions: "boss",
        tools: [Note(log), Both],
        defaults: { onError: Recovery.standard }
      })
      const outer = Agent.all("outer", [both, boss])
      const first = paused(yield* outer.start("x"))
      assert.deepStrictEqual(
        first.pending.map(({ callId }) => callId),
        ["first > clerk/clerk/r", "boss/b/clerk/r"]
      )
      const second = paused(yield* outer.resume(...approved(first, "boss/b/clerk/r")))
      assert.deepStrictEqual(log, ["note b", "refund A 500"])
      const ended = yield* outer.resume(...approved(second))
      assert.deepInclude(ended, { _tag: "Completed", output: ["paid", "noted"] })
      assert.deepStrictEqual(log, ["note b", "refund A 500", "refund A 500"])
    }).pipe(Effect.provide([
      key,
      models({
        first: [text("go")],
        clerk: [refund("A"), text("paid")],
        boss: [
          calls([{ name: "note", params: { text: "b" } }, { name: "both", params: { task: "x" }, id: "b" }]),
          text("noted")
        ]
      })
    ])))

  it.effect("an outer agent's failure withdraws questions within a composed tool", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      const Both = Agent.andThen(fn("say", (_: {}) => "x"), clerk(log)).pipe(
        Agent.asTool("both", {
          description: "",
          parameters: Schema.Struct({}),
          success: Schema.String,
          effects: "write"
        })
      )
      const boss = Agent.make("boss", { instructions: "boss", tools: [Both], defaults: { onError: Recovery.standard } })
      const both = Agent.all("outer", [boss, clerk(log, "late").pipe(Agent.andThen(down))])
      const first = paused(yield* both.start("x").pipe(Effect.provide(layer)))
      const ids = first.pending.map(({ callId }) => callId)
      assert.deepStrictEqual(ids.toSorted(), ["boss/b/clerk/r", "late > down/late/r"])
      yield* Effect.exit(both.resume(...approved(first, "late > down/late/r")).pipe(Effect.provide(layer)))
      const started = events.flatMap((event) =>
        event._tag === "ApprovalRequested" ? [`${event.agentRunId} ${event.callId}`] : []
      )
      const ended = events.flatMap((event) =>
        event._tag === "ToolResult" ? [`${event.agentRunId} ${event.callId}`] : []
      )
      for (const asked of started) assert.include(ended, asked)
    }).pipe(Effect.provide([
      key,
      models({
        boss: [call("both", {}, { id: "b" }), text("done")],
        clerk: [refund("A"), text("paid")],
        late: [refund("A"), text("done")]
      })
    ])))

  it.effect("restores answers by schema; unencodable answers end the run", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const When = Schema.Struct({ at: Schema.DateFromString })
      const dated = Agent.make("dated", { instructions: "dated", output: When })
      const wait = clerk(log)
      const year = Agent.fromFunction(
        "year",
        ([{ at }, said]: readonly [typeof When.Type, string]) => Effect.succeed(`${at.getFullYear()} ${said}`)
      )
      const agent = Agent.all("both", [dated, wait]).pipe(Agent.andThen(year))
      const ended = yield* agent.resume(...approved(paused(yield* agent.start("x"))))
      assert.deepInclude(ended, { _tag: "Completed", output: "2020 paid" })
      const map = Agent.fromFunction("map", (_: string) => Effect.succeed(new Map([[1, 2]])))
      const exit = yield* Effect.exit(Agent.all("both", [map, wait]).start("x"))
      assert.isTrue(Exit.isFailure(exit))
      assert.match(String(exit), /cannot wait: what \\?"map\\?" answers has no JSON form/)
    }).pipe(Effect.provide([
      key,
      models({ dated: [text("{\"at\":\"2020-02-02T00:00:00.000Z\"}")], clerk: [refund("A"), text("paid")] })
    ])))
})
