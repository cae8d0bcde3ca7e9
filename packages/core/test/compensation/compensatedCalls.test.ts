/** Compensation of single calls: journal, result, failure, late refusal and key. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import {
  Agent,
  Approval,
  Audit,
  IdempotencyLedger,
  Journal,
  Recovery,
  RunRecord,
  Tool,
  ToolCall,
  type ToolError
} from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { collect, Down, lastResults } from "../support/kit.ts"
import { book, Desk, Fail, failing, journalOf, Params, Refused, told } from "../support/compensatedBookings.ts"

/** A model with its recorded requests. */
const recorded = (turns: ReadonlyArray<ScriptedModel.Turn>) => {
  const requests: Array<ScriptedModel.Request> = []
  const layer = ScriptedModel.layer((request) => {
    requests.push(request)
    return turns[requests.length - 1]!
  })
  return { layer, requests }
}

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

describe("a run with a journal", () => {
  const agentOf = (desk: Desk, more: Record<string, unknown> = {}) =>
    Agent.make("clerk", { tools: [desk.tool("flight", more), desk.tool("hotel", more), Fail], compensation: {} })

  const live = (
    agent: { readonly run: (input: string, options: { runId: string }) => Effect.Effect<unknown, unknown, any> },
    journal: Journal.Journal
  ) =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const turns = failing(book("flight", 1), book("hotel", 2))
      const exit = yield* Effect.exit(agent.run("Book", { runId: "r" })).pipe(
        Effect.provide(Layer.merge(
          ScriptedModel.layer(({ prompt }) => turns[prompt.content.filter(({ role }) => role === "assistant").length]!),
          layer
        )),
        Effect.provideService(Journal.CurrentJournal, journal)
      )
      return { events, exit: exit as Exit.Exit<unknown, unknown> }
    })

  it.effect("an execution that recovers compensates earlier writes once", () =>
    Effect.gen(function*() {
      const first = new Desk()
      const steps = new Map<string, Schema.Json>()
      const { exit } = yield* live(
        agentOf(first),
        journalOf(new Map(), steps, () => false, "compensation begun r/6:flight")
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(first.log, ["flight 1", "hotel 2", "undo hotel 2 102 2"])
      const second = new Desk()
      const { events } = yield* live(agentOf(second), journalOf(steps, new Map()))
      assert.deepStrictEqual(second.log, ["undo flight 1 101 1"])
      assert.deepStrictEqual(told(events), ["flight_1 undone"])
    }))

  it.effect("an interrupted compensation needs a person, unless it is repeatable", () =>
    Effect.gen(function*() {
      for (const [effects, undone] of [["write", false], ["idempotent", true]] as const) {
        const steps = new Map<string, Schema.Json>()
        yield* live(
          agentOf(new Desk(), { effects }),
          journalOf(new Map(), steps, () => false, "compensation r/5:hotel")
        )
        const second = new Desk()
        const { events } = yield* live(agentOf(second, { effects }), journalOf(steps, new Map()))
        assert.deepStrictEqual(told(events), [
          undone ? "hotel_2 undone" : "hotel_2 not_undone timeout",
          "flight_1 undone"
        ])
        assert.strictEqual(second.log.length, undone ? 2 : 1)
      }
    }))
})

describe("the result of a compensated call", () => {
  it.effect("is marked next to its content, with no other change", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const seat = Schema.String
      const plain = (name: string, more: Record<string, unknown> = {}) =>
        desk.tool(name, {
          success: seat,
          execute: ({ n }: { readonly n: number }) => Effect.succeed(`seat ${n}`),
          compensate: () => Effect.void,
          ...more
        })
      const [flight, hotel] = [plain("flight"), plain("hotel")]
      const made = (tool: typeof flight, id: string) =>
        Effect.provideService(tool.call, ToolCall.ToolCall, ToolCall.make({ id, arguments: { n: 1 } }))
      const Trip = Tool.make("trip", {
        parameters: Params,
        success: Schema.String,
        effects: "read",
        execute: () => Effect.as(Effect.all([made(flight, "x"), made(hotel, "y")]), "both")
      })
      const Odd = Tool.make("odd", {
        parameters: Params,
        success: Schema.String,
        effects: "read",
        execute: () => Effect.andThen(made(flight, "x"), Effect.fail(new Down()))
      }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
      const Look = Tool.make("look", {
        parameters: Params,
        effects: "read",
        success: seat,
        execute: () => Effect.succeed("l")
      })
      const agent = Agent.make("clerk", {
        tools: [
          plain("page", { trust: "untrusted" }),
          plain("shown", { toModelOutput: () => [Prompt.textPart({ text: "a seat" })] }),
          flight,
          Trip,
          Odd,
          Look,
          Fail
        ] as never,
        onTainted: { allow: ["page", "shown", "flight"] },
        compensation: {}
      } as never) as never as Agent.Agent<string, string, unknown, never>
      const exit = yield* Effect.exit(agent.run("Book")).pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls(["flight", "look", "trip", "odd", "shown", "page"].map((name) => book(name, 1))),
          ScriptedModel.calls([{ name: "fail", params: {}, id: "f" }])
        ]))
      )
      const record = Exit.isFailure(exit) ? Option.getOrThrow(RunRecord.fromCause(exit.cause)) : assert.fail()
      const message = record.transcript.content.find(({ role }) => role === "tool")!
      const results = Object.fromEntries(
        (message.content as ReadonlyArray<{ name: string; result: any; modelOutput?: unknown }>).map((part) => [
          part.name,
          part
        ])
      )
      assert.deepStrictEqual(results["flight"]!.result, { undone: ["flight"], result: "seat 1" })
      assert.deepStrictEqual(results["look"]!.result, "l")
      assert.deepStrictEqual(results["trip"]!.result, { undone: ["hotel", "flight"], result: "both" })
      assert.deepInclude(results["odd"]!.result, { status: "error", undone: ["flight"] })
      assert.deepStrictEqual(results["shown"]!.result, { undone: ["shown"], result: "seat 1" })
      assert.deepStrictEqual(
        (results["shown"]!.modelOutput as ReadonlyArray<{ readonly text: string }>).map(({ text }) => text),
        ["{\"undone\":[\"shown\"]}", "a seat"]
      )
      assert.deepInclude(results["page"]!.result, { untrusted: true, content: "seat 1", undone: ["page"] })
      assert.isFalse("modelOutput" in results["flight"]!)
    }))
})

describe("a compensation that fails", () => {
  const outcomes: ReadonlyArray<readonly [string, () => Effect.Effect<void, unknown>, string]> = [
    ["by its error", () => Effect.fail(new Refused({ id: 1 })), "failed: Refused"],
    ["by a value without a tag", () => Effect.fail("no"), "failed: Error"],
    ["by a defect", () => Effect.die(new Error("secret")), "failed: Defect"],
    [
      "by a throw",
      () => {
        throw new Error("secret")
      },
      "failed: Defect"
    ],
    ["by an interruption", () => Effect.interrupt, "failed: Interrupted"]
  ]
  for (const [how, compensate, told] of outcomes) {
    it.effect(`${how} is reported by name, and hides no other error`, () =>
      Effect.gen(function*() {
        const desk = new Desk()
        const reports: Array<ToolError.NotCompensated> = []
        const audits: Array<string> = []
        const steps = new Map<string, Schema.Json>()
        const agent = Agent.make("clerk", {
          tools: [desk.tool("flight"), desk.tool("hotel", { compensate }), desk.tool("car"), Fail],
          compensation: { report: (left) => Effect.sync(() => void reports.push(...left)) }
        })
        const life = (journal: Journal.Journal) => {
          const turns = failing(book("flight", 1), book("hotel", 2), book("car", 3))
          return Effect.exit(agent.run("Book", { runId: "r" }) as Effect.Effect<string, unknown, never>).pipe(
            Effect.provide(Layer.merge(
              ScriptedModel.layer(({ prompt }) =>
                turns[prompt.content.filter(({ role }) => role === "assistant").length]!
              ),
              Audit.layer(({ decision, reason }) => Effect.sync(() => void audits.push(`${decision} ${reason ?? ""}`)))
            )),
            Effect.provideService(Journal.CurrentJournal, journal)
          )
        }
        const exit = yield* life(journalOf(new Map(), steps))
        const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
        assert.strictEqual((error as { readonly _tag?: string } | undefined)?._tag, "ExecutionError")
        assert.deepStrictEqual(desk.log, [
          "flight 1",
          "hotel 2",
          "car 3",
          "undo car 3 103 3",
          "undo flight 1 101 1"
        ])
        assert.deepStrictEqual(audits, ["compensated ", `not_compensated ${told}`, "compensated "])
        const name = told.split(": ")[1]!
        assert.deepStrictEqual(reports.map(({ because, error, tool }) => [tool, because, error]), [[
          "hotel",
          "failed",
          name
        ]])
        assert.include(reports[0]!.message, told)
        const record = Exit.isFailure(exit) ? RunRecord.fromCause(exit.cause) : undefined
        assert.deepStrictEqual(
          record?._tag === "Some" ? record.value.compensations?.map(({ error, outcome }) => [outcome, error]) : [],
          [["undone", undefined], ["not_undone", name], ["undone", undefined]]
        )
        // The next execution still knows it, and no text for operators is stored.
        assert.notInclude(JSON.stringify([...steps]), "secret")
        yield* life(journalOf(steps, new Map()))
        assert.deepStrictEqual(reports.slice(1).map(({ because, error }) => [because, error]), [["failed", name]])
        assert.strictEqual(desk.log.length, 5)
        assert.strictEqual(audits.length, 3)
      }))
  }
})

describe("an approval that is refused later", () => {
  it.effect("compensates earlier writes at the end, informs the model, keeps later ones", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const Pay = desk.tool("pay", { needsApproval: true })
      const agent = Agent.make("clerk", {
        tools: [desk.tool("flight"), Pay, desk.tool("train")],
        compensation: {}
      })
      const { layer, requests } = recorded([
        ScriptedModel.calls([book("flight", 1)]),
        ScriptedModel.calls([book("pay", 2)]),
        ScriptedModel.calls([book("train", 3)]),
        ScriptedModel.text("By train, then.")
      ])
      const { events, layer: heard } = collect()
      const outcome = yield* Effect.gen(function*() {
        const paused = yield* agent.start("Book") as Effect.Effect<Approval.Outcome<string>, unknown, never>
        if (paused._tag !== "Paused") return assert.fail("it waits")
        // In another process: only the snapshot remains.
        const snapshot = JSON.parse(JSON.stringify(paused.snapshot))
        return yield* agent.resume(snapshot, [Approval.reject(paused.pending[0]!, "too dear")]) as Effect.Effect<
          Approval.Outcome<string>,
          unknown,
          never
        >
      }).pipe(Effect.provide(Layer.mergeAll(layer, heard, key)))
      assert.deepStrictEqual(outcome, new Approval.Completed({ output: "By train, then." }))
      assert.deepStrictEqual(desk.log, ["flight 1", "train 3", "undo flight 1 101 1"])
      const [rejected] = lastResults(requests[2]!.prompt)
      assert.include(JSON.stringify(rejected!.result), "are compensated when you have answered")
      assert.deepStrictEqual(told(events), ["flight_1 undone"])
    }))

  it.effect("over a pause: the resuming process compensates from the snapshot", () =>
    Effect.gen(function*() {
      const made = (desk: Desk) =>
        Agent.make("clerk", {
          tools: [desk.tool("flight"), desk.tool("pay", { needsApproval: true }), Fail],
          compensation: {}
        })
      const turns = failing(book("flight", 1), book("pay", 2))
      const first = new Desk()
      const second = new Desk()
      const model = recorded(turns).layer
      yield* Effect.gen(function*() {
        const paused = yield* made(first).start("Book") as Effect.Effect<Approval.Outcome<string>, unknown, never>
        if (paused._tag !== "Paused") return assert.fail("it waits")
        const snapshot = JSON.parse(JSON.stringify(paused.snapshot))
        const resumed = made(second).resume(snapshot, [Approval.approve(paused.pending[0]!)])
        const exit = yield* Effect.exit(resumed as Effect.Effect<unknown, unknown, never>)
        assert.isTrue(Exit.isFailure(exit))
      }).pipe(Effect.provide(Layer.mergeAll(model, key)))
      assert.deepStrictEqual(first.log, ["flight 1"])
      assert.deepStrictEqual(second.log, ["pay 2", "undo pay 2 102 2", "undo flight 1 101 1"])
    }))
})

describe("the key of a compensated write", () => {
  for (const key of ["its own", "the call's"] as const) {
    it.effect(`${key}: the next run executes it again, without a ledger answer`, () =>
      Effect.gen(function*() {
        const desk = new Desk()
        const idempotency = key === "its own" ? { key: ({ n }: typeof Params.Type) => `book ${n}` } : true
        const agent = Agent.make("travel", {
          tools: [desk.tool("flight", { idempotency }) as never, Fail],
          compensation: {}
        }) as unknown as Agent.Agent<string, string, unknown, never>
        const run = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
          Effect.exit(agent.run("x", { runId: "same" }).pipe(Effect.provide(ScriptedModel.layer(turns))))
        yield* run(...failing(book("flight", 1)))
        assert.deepStrictEqual(desk.log, ["flight 1", "undo flight 1 101 1"])
        yield* run(ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("booked"))
        assert.deepStrictEqual(desk.log, ["flight 1", "undo flight 1 101 1", "flight 1"])
        yield* run(ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("booked"))
        assert.strictEqual(desk.log.length, 3, "what is not undone is done once")
      }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
  }

  it.effect("is not free if the compensation failed", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const flight = desk.tool("flight", { idempotency: { key: () => "k" }, compensate: () => Effect.fail(new Down()) })
      const agent = Agent.make("travel", {
        tools: [flight as never, Fail],
        compensation: {}
      }) as unknown as Agent.Agent<
        string,
        string,
        unknown,
        never
      >
      const run = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
        Effect.exit(agent.run("x").pipe(Effect.provide(ScriptedModel.layer(turns))))
      yield* run(...failing(book("flight", 1)))
      yield* run(ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("booked"))
      assert.deepStrictEqual(desk.log, ["flight 1"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})
