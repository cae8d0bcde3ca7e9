/**
 * Entries of a run's journal about a call: replayed and counted unchanged, and refused if they belong to another call.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Data, Effect, Exit, type Schema, Schema as S } from "effect"
import { Agent, Journal, Recovery, Tool } from "@recourse/core"
import { type CutAt, journalOf } from "../support/interruptedRuns.ts"
import { collect, lastResults } from "../support/kit.ts"

class No extends Data.TaggedError("No") {}

type Kept = Map<string, Schema.Json>

/** The tools of an execution, and their calls. */
interface Life {
  readonly tools: ReadonlyArray<Tool.Any>
  readonly ran: Array<string>
}

const lookOf = (): Life => {
  const ran: Array<string> = []
  const look = Tool.make("look", {
    parameters: S.Struct({ n: S.Int }),
    success: S.Int,
    effects: "read",
    execute: ({ n }) => Effect.suspend(() => (ran.push(`look ${n}`), n < 0 ? Effect.fail(new No()) : Effect.succeed(n)))
  })
  return { tools: [look], ran }
}

const payOf = (): Life => {
  const ran: Array<string> = []
  const pay = Tool.make("pay", {
    parameters: S.Struct({ n: S.Int }),
    success: S.String,
    effects: "write",
    execute: ({ n }) => Effect.sync(() => (ran.push(`pay ${n}`), "paid"))
  })
  return { tools: [pay], ran }
}

/** An execution of a run whose calls are `turns`, until it is interrupted. */
const live = (
  { life }: ReturnType<typeof journalOf>,
  { ran, tools }: Life,
  turns: ReadonlyArray<ScriptedModel.Turn>,
  cut?: CutAt,
  more: object = {}
) =>
  Effect.gen(function*() {
    const told = new Map<string, unknown>()
    const model = ScriptedModel.layer((request, index) => {
      for (const { id, result } of lastResults(request.prompt)) told.set(id, result)
      return ScriptedModel.steps([...turns, ScriptedModel.text("done")] as never)(request, index)
    })
    const agent = Agent.make(
      "clerk",
      { tools, defaults: { onError: Recovery.keepGoing }, ...more } as never
    ) as never as Agent.Agent<string, string, unknown, never>
    const { events, layer } = collect()
    const report = yield* Drive.drive(
      agent.report("go", { runId: "run_1" }).pipe(
        Effect.provideService(Journal.CurrentJournal, life(cut).journal),
        Effect.provide(model),
        Effect.provide(layer)
      )
    )
    return { events, ran, report, told }
  })

/** The number of a record among those that a journal has. */
const at = (kept: Kept, name: string): number => [...kept.keys()].indexOf(name) + 1

const look = (n: number, id: string) => ScriptedModel.call("look", { n }, { id })

const diverged = (exit: Exit.Exit<unknown, unknown>): unknown => {
  const reason = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isDieReason) : undefined
  return reason?.defect instanceof Journal.NonDeterminismError ? { ...reason.defect } : String(exit)
}

describe("a recorded call", () => {
  const play = (change: (record: Record<string, Schema.Json>) => Schema.Json) =>
    Effect.gen(function*() {
      const journal = journalOf()
      yield* live(journal, lookOf(), [look(2, "c")])
      const record = journal.kept.get("call /c") as Record<string, Schema.Json>
      journal.kept.delete("model /2")
      journal.kept.set("call /c", change(record))
      const { ran, report } = yield* live(journal, lookOf(), [look(2, "c")])
      return { ran, exit: report.exit }
    })

  it.effect("is not repeated", () =>
    Effect.gen(function*() {
      const { exit, ran } = yield* play((record) => record)
      assert.deepStrictEqual([exit, ran], [Exit.succeed("done"), []])
    }))

  for (
    const [what, change] of [
      ["another tool", { tool: "see" }],
      ["other arguments", { arguments: `{"n":3}` }],
      ["another call", {
        result: {
          content: [{
            role: "tool",
            options: {},
            content: [
              { type: "tool-result", id: "d", name: "look", isFailure: false, result: 2, options: {} }
            ]
          }]
        }
      }]
    ] as const
  ) {
    it.effect(`of ${what} ends the run, which names it`, () =>
      Effect.gen(function*() {
        const { exit, ran } = yield* play((record) => ({ ...record, ...change }))
        assert.deepInclude(diverged(exit), { runId: "run_1", step: "call /c" })
        assert.deepStrictEqual(ran, [])
      }))
  }

  it.effect("with invalid arguments is replayed unchanged", () =>
    Effect.gen(function*() {
      const journal = journalOf()
      const turns = [ScriptedModel.call("look", undefined, { id: "c" })]
      const first = yield* live(journal, lookOf(), turns)
      journal.kept.delete("model /2")
      const second = yield* live(journal, lookOf(), turns)
      assert.strictEqual((second.told.get("c") as { readonly code: string }).code, "invalid_arguments")
      assert.deepStrictEqual(second.told, first.told)
      // It is not announced again.
      assert.isFalse(second.events.some((event) => event._tag === "ToolCallStarted"))
    }))
})

describe("the failures that the journal has", () => {
  const turns = [look(-1, "a"), look(-1, "b"), look(-1, "c"), look(-1, "d")]

  /** The whole run, and the calls and events of the execution behind an entry. */
  const cutBehind = (name: string, turns: ReadonlyArray<ScriptedModel.Turn>) =>
    Effect.gen(function*() {
      const whole = journalOf()
      const first = yield* live(whole, lookOf(), turns)
      const journal = journalOf()
      yield* live(journal, lookOf(), turns, { at: at(whole.kept, name), behind: true })
      const second = yield* live(journal, lookOf(), turns)
      return { first, second }
    })

  it.effect("are counted on: the same call is not made once more", () =>
    Effect.gen(function*() {
      const { first, second } = yield* cutBehind("call /b", turns)
      assert.deepStrictEqual(second.told.get("d"), first.told.get("d"))
      assert.strictEqual((first.told.get("d") as { readonly code: string }).code, "repeated_call")
      assert.deepStrictEqual([first.ran.length, second.ran.length], [3, 1])
    }))

  it.effect("are as many as before, for any order of equal calls", () =>
    Effect.gen(function*() {
      const both = [
        ScriptedModel.calls([
          { name: "look", params: { n: -1 }, id: "a" },
          { name: "look", params: { n: -1 }, id: "b" }
        ]),
        look(-1, "c"),
        look(-1, "d")
      ]
      const { first, second } = yield* cutBehind("call /b", both)
      assert.deepStrictEqual(second.told.get("d"), first.told.get("d"))
      assert.deepStrictEqual([first.ran.length, second.ran.length], [3, 1])
    }))
})

describe("a started call of a missing tool", () => {
  const pay = [ScriptedModel.call("pay", { n: 1 }, { id: "c" })]
  const play = Effect.gen(function*() {
    const whole = journalOf()
    yield* live(whole, payOf(), pay)
    const journal = journalOf()
    const first = yield* live(journal, payOf(), pay, { at: at(whole.kept, "call /c"), behind: false })
    assert.deepStrictEqual(first.ran, ["pay 1"])
    const { tools } = lookOf()
    return yield* live(journal, { tools, ran: [] }, pay)
  })

  it.effect("is reported as unknown, recorded and counted", () =>
    Effect.gen(function*() {
      const { events, report, told } = yield* play
      assert.strictEqual((told.get("c") as { readonly code: string }).code, "outcome_unknown")
      assert.deepStrictEqual(report.executed, [
        { tool: "pay", callId: "c", attempt: 1, arguments: `{"n":1}`, outcome: "unknown" }
      ])
      assert.strictEqual(report.usage.toolCalls, 1)
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolResult" ? [[event.callId, event.code]] : []),
        [["c", "outcome_unknown"]]
      )
    }))
})
