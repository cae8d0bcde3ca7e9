/** Default plans meet each fault of each tool, wherever it is called, or the report says which they did not. */
import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel, Subject } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"
import * as till from "../support/till.ts"

class Closed extends Schema.TaggedError<Closed>()("Closed", { until: Schema.String }) {}
class Moved extends Schema.TaggedError<Moved>()("Moved", { to: Schema.Int }) {}

const look = (name: string, failure?: Schema.Top) =>
  Tool.make(name, {
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.Array(Schema.String),
    ...(failure === undefined ? undefined : { failure: failure as Schema.Codec<Closed | Moved> }),
    effects: "read",
    timeout: "3 seconds",
    execute: ({ order }): Effect.Effect<ReadonlyArray<string>, Closed> => Effect.succeed([order, "open"])
  })

const subjectOf = (tools: ReadonlyArray<Tool.Any>, called: ReadonlyArray<Tool.Any> = tools) =>
  Subject.make({
    agent: Agent.make("clerk", {
      tools,
      defaults: { onError: Recovery.standard },
      budget: { turns: 6, duration: "60 seconds" }
    } as never) as unknown as Agent.Agent<string, string, unknown>,
    tools,
    scenarios: {
      default: {
        input: "x",
        model: [
          ScriptedModel.calls(called.map(({ name }) => ({ name, params: { order: "A" } }))),
          ScriptedModel.text("Done.")
        ]
      }
    }
  })

/** The report of the default plans. */
const reportOf = (subject: Subject.Subject<string, string, unknown>) =>
  Laws.check(subject, { laws: [], interruptions: 0 })

/** The runs of the default plans. */
const runsOf = (subject: Subject.Subject<string, string, unknown>) =>
  Effect.gen(function*() {
    const runs: Array<Laws.Trial["plain"]> = []
    const noted: Laws.Law = ({ plain }) => {
      runs.push(plain)
      return []
    }
    yield* Laws.check(subject, { laws: [], more: { noted }, interruptions: 0 })
    return runs
  })

// A limit for a machine that does much else.
describe("default plans", { timeout: 120_000 }, () => {
  it.effect("have answers of people in the scenario in which one is asked", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", {
        parameters: Schema.Struct({ euros: Schema.Int }),
        success: Schema.String,
        effects: "write",
        timeout: "3 seconds",
        needsApproval: ({ euros }) => euros > 100,
        execute: () => Effect.succeed("paid")
      })
      const paying = (euros: number) => ({
        input: "Pay",
        model: [ScriptedModel.call("pay", { euros }), ScriptedModel.text("Paid.")] as const
      })
      const report = yield* reportOf(Subject.make({
        agent: Agent.make("payer", {
          tools: [Pay],
          defaults: { onError: Recovery.standard },
          budget: { turns: 6, duration: "60 seconds" }
        }),
        scenarios: { little: paying(1), none: paying(2), much: paying(500) }
      }) as never)
      assert.deepStrictEqual(report.missed.filter(({ fault }) => fault.startsWith("approval_")), [])
    }))

  it.effect("have faults of the model behind all that was done, and the failures that a tool declares by their tags", () =>
    Effect.gen(function*() {
      const plans = yield* runsOf(subjectOf([look("look", Schema.Union([Closed, Moved]))]))
      const atLast = plans.flatMap(({ plan: { injections } }) =>
        injections.length === 1 && !("tool" in injections[0]!) && injections[0]!.from === 2
          ? [injections[0]!.fault.type]
          : []
      )
      for (const fault of ["model_error", "model_hang", "stream_cut", "empty_answer", "truncated_answer"]) {
        assert.include(atLast, fault)
      }
      const reasons = new Set(
        plans.flatMap(({ events }) =>
          events.flatMap((event) => event._tag === "ToolAttemptFailed" ? [event.reason] : [])
        )
      )
      assert.isTrue(reasons.has("Closed") && reasons.has("Moved"), [...reasons].join())
    }))

  it.effect("have each fault of a tool called only behind another's fault", () =>
    Effect.gen(function*() {
      const other = look("other")
      const first = look("first").pipe(
        Tool.onError((call) =>
          call.pipe(Recovery.fallback("ExecutionError", other.call), Recovery.escalate("InvalidArgs"))
        )
      )
      const report = yield* reportOf(subjectOf([first as Tool.Any, other], [first as Tool.Any]))
      // No model writes its arguments.
      assert.deepStrictEqual(report.missed.map(({ fault, tool }) => [tool, fault]), [
        ["other", "malformed_arguments"],
        ["other", "missing_arguments"]
      ])
    }))

  it.effect("have pairs of faults on one call, however many tools there are", () =>
    Effect.gen(function*() {
      const plans = yield* runsOf(subjectOf(Array.from({ length: 5 }, (_, nth) => look(`look${nth}`))))
      const pairs = plans.filter(({ plan: { injections: [first, second] } }) =>
        first !== undefined && second !== undefined && "tool" in first && "tool" in second && first.tool === second.tool
      )
      assert.isAbove(pairs.length, 10)
    }))

  it.effect("run once each without laws", () =>
    Effect.gen(function*() {
      const runsIn = (laws: ReadonlyArray<Laws.LawName>) =>
        Effect.gen(function*() {
          let runs = 0
          const counted = Subject.make({
            agent: Agent.fromFunction("counted", () => Effect.sync(() => `${++runs}`)),
            tools: [],
            scenarios: { default: { input: "x", model: [ScriptedModel.text("unused")] } }
          })
          yield* Laws.check(counted, { laws, runs: 20, interruptions: 0 })
          return runs
        })
      const once = yield* runsIn([])
      assert.isAtMost(once, 25)
      assert.isAtLeast(yield* runsIn(["runs_end"]), once + 60)
    }))

  it.effect("name unused decisions of people", () =>
    Effect.gen(function*() {
      const few = yield* Laws.check(till.subject, { runs: 1, laws: [], interruptions: 0 })
      assert.isTrue(few.missed.some(({ fault, tool }) => tool === "pay" && fault === "approval_edited"))
    }))
})
