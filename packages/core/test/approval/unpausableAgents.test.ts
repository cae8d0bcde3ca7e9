/** Agents that cannot wait because they run outside a tool. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Option, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, AiToolkit, Approval, Recovery, Tool } from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"
import { book, boss, type Log, pay, tool, type Waits } from "../support/bookings.ts"
import { Note } from "../support/refundTools.ts"
import { Ask, asks, clerk, key, model, one, process, type Turns } from "../support/askingAgents.ts"

const { call, text } = ScriptedModel

describe("elsewhere, an agent that waits fails", () => {
  it.effect("run by hand within a tool, and by a function", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const byHand = Tool.make("ask_clerk", {
        parameters: asks.parameters,
        success: Schema.String,
        execute: (params) => clerk(log).run(params)
      })
      const composed = Agent.fromFunction("by hand", (task: { readonly task: string }) => clerk(log).run(task)).pipe(
        Agent.asTool("ask_clerk", asks)
      )
      for (const [tool, tag] of [[byHand, "ExecutionError"], [composed, "OutcomeUnknown"]] as const) {
        const agent = Agent.make("desk", { instructions: "desk", tools: [tool, Note(log)] })
        const exit = yield* Effect.exit(process(one, agent.run("go")))
        const error = Option.getOrThrow(Exit.findErrorOption(exit))
        assert.strictEqual(error._tag, tag)
        assert.propertyVal((error as { readonly reason?: unknown }).reason, "_tag", "ApprovalRequired")
      }
      assert.notInclude(log, "refund A 500")
    }))

  it.effect("called by or instead of another tool: that call is denied", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const parameters = { parameters: asks.parameters, success: Schema.String } as const
      const other = clerk(log).pipe(Agent.asTool("other", { ...asks, effects: "read" }))
      const within = Tool.make("ask_clerk", {
        ...parameters,
        execute: () => Effect.catchCause(other.call, () => Effect.succeed("swallowed"))
      })
      const inPlace = Tool.make("ask_clerk", { ...parameters, execute: () => Effect.fail("down" as const) }).pipe(
        Tool.onError(Recovery.fallback("ExecutionError", other.call))
      )
      for (const tool of [within, inPlace]) {
        const { events, layer } = collect()
        const agent = Agent.make("desk", { instructions: "desk", tools: [tool, Note(log)] })
        const { of, outcome } = yield* process(one, agent.run("go")).pipe(Effect.provide(layer))
        assert.strictEqual(outcome, "all done")
        // The clerk has written a note before: a denied call would mean that no call was executed.
        assert.include(JSON.stringify(lastResults(of("desk")[1]!.prompt)[0]), "outcome_unknown")
        const results = events.flatMap((event) =>
          event._tag === "ToolResult" && event.path.length === 2 ? [event.callId] : []
        )
        assert.deepStrictEqual(results, ["n1", "r"])
      }
      assert.notInclude(log, "refund A 500")
    }))

  it.effect("started by hand without a run asks by its own calls' ids", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      const { outcome } = yield* process(
        one,
        clerk(log).start({ task: "task A" }).pipe(by({}, "hand"), Effect.provide(layer))
      )
      assert.strictEqual(outcome._tag, "Paused")
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ApprovalRequested" ? [event.pendingCallId] : []),
        outcome._tag === "Paused" ? outcome.pending.map(({ callId }) => callId) : []
      )
    }))

  it.effect("rejected: its model reads of compensations, also by the outer agent", () =>
    Effect.gen(function*() {
      const told = (own: object, around: object) =>
        Effect.gen(function*() {
          const tools = (log: Log) => [book(log), pay(log)]
          const inner = (log: Log) => boss(tools(log), { instructions: "a", ...own })
          const outer = boss([tool(inner([]), "a")], around) as unknown as Waits
          yield* Effect.exit(
            Effect.flatMap(outer.start({}, { runId: "r" }), (paused) =>
              paused._tag === "Paused"
                ? outer.resume(paused.snapshot, paused.pending.map((one) => Approval.reject(one, "no")))
                : assert.fail("it waits"))
          )
          const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
          const results = requests.flatMap(({ prompt }) => lastResults(prompt)).filter(({ id }) => id === "p")
          return JSON.stringify(results.map(({ result }) => result))
        }).pipe(
          Effect.provide([
            model({
              boss: [call("a", {}, { id: "a" }), text("done")],
              a: [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" }), text("refused")]
            }),
            key
          ])
        )
      const compensation = { after: ["rejection"] }
      const own = yield* told({ compensation }, {})
      assert.strictEqual(yield* told({}, { compensation }), own)
      assert.notStrictEqual(yield* told({}, {}), own)
      assert.notStrictEqual(yield* told({}, { compensation: { after: ["failure"] } }), own)
    }))

  it.effect("called by hand it fails", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { outcome } = yield* process(one, Effect.flip(Ask(log).call.pipe(by({ task: "task A" }))))
      assert.strictEqual(outcome._tag, "NotApproved")
      assert.notInclude(log, "refund A 500")
    }))

  it.effect("in a toolkit of `effect/ai` its call is not allowed", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const toolkit = AiToolkit.toToolkit([Ask(log)], { defaults: { onError: Recovery.standard } })
      const script: Readonly<Record<string, Turns>> = {
        "": [call("ask_clerk", { task: "task A" }, { id: "a" })],
        "task A": one["task A"]!
      }
      const { outcome } = yield* process(script, LanguageModel.generateText({ prompt: "go", toolkit }))
      assert.include(JSON.stringify(outcome.toolResults.map(({ result }) => result)), "permission_denied")
      assert.notInclude(log, "refund A 500")
    }))
})
