/** Broken laws that a check finds. */

import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, Laws, ScriptedModel, SideEffects, Simulation, Subject } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Agent, type Approval, Recovery, Tool } from "@recourse/core"
import { agent, budget, Order, Search, subject, tools } from "../support/shop.ts"
import * as till from "../support/till.ts"

// A limit for a machine that does much else.
const timeout = 600_000

const scenario: Subject.ScenarioOptions<string> = {
  input: "x",
  model: [ScriptedModel.call("search", { text: "x" }), ScriptedModel.text("ok")]
}

/** The shop with another search. */
const broken = (
  execute: () => Effect.Effect<string, Error, SideEffects.SideEffects>,
  options?: { readonly model?: ScriptedModel.Behaviour; readonly effects?: Tool.Effects }
) => {
  const Search = Tool.make("search", {
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String,
    effects: options?.effects ?? "read",
    execute
  })
  return Subject.make({
    agent: Agent.make("broken", {
      tools: [Search],
      defaults: {
        onError: Recovery.policy({ ExecutionError: "escalate", InvalidArgs: "escalate", InvalidResult: "escalate" })
      },
      budget: { duration: "60 seconds" }
    }),
    tools: [Search],
    budget: { duration: "60 seconds" },
    scenarios: { default: options?.model === undefined ? scenario : { input: "x", model: options.model } }
  })
}

describe("a broken law is found", () => {
  const found = (law: Laws.LawName, subject: Subject.Subject<string, string, unknown>) =>
    it.effect(law, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Laws.check(subject, { laws: [law], interruptions: 5 }))
        assert.strictEqual(error.law, law)
      }))

  found(
    "attempts_within_budget",
    Subject.make({ agent, tools, budget: { ...budget, turns: 2 }, scenarios: subject.scenarios })
  )

  found(
    "writes_at_most_once",
    Subject.make({
      agent,
      tools: [Tool.make("search", { effects: "write", execute: () => Effect.void }), Order],
      budget,
      scenarios: subject.scenarios
    })
  )

  found(
    "writes_at_most_once",
    broken(() =>
      Effect.gen(function*() {
        const world = yield* SideEffects.SideEffects
        yield* world.perform({ tool: "search" })
        yield* world.perform({ tool: "search" })
        return "ok"
      }), { effects: "write" })
  )

  found(
    "errors_are_redacted",
    Subject.make({
      agent: Agent.make("leaky", {
        tools: [
          Search.pipe(
            Tool.onError((call) =>
              Effect.catchDefect(
                call,
                (defect) => Effect.succeed({ page: String(Reflect.get(Object(defect), "reason") ?? defect), hits: [] })
              )
            )
          )
        ],
        defaults: { onError: Recovery.standard },
        budget
      }),
      tools: [Search],
      budget,
      scenarios: { default: scenario }
    })
  )

  found(
    "streaming_agrees",
    broken(() => Effect.succeed("ok"), {
      model: (request) => ScriptedModel.text(request.streaming ? "streamed" : "whole")
    })
  )

  let calls = 0

  found(
    "same_seed_same_run",
    broken(() => Effect.succeed("ok"), { model: () => ScriptedModel.text(`call ${++calls}`) })
  )

  found("deadlines_are_respected", broken(() => Effect.uninterruptible(Effect.as(Effect.sleep("2 minutes"), "late"))))

  found("no_fibers_leak", broken(() => Effect.as(Effect.forkDetach(Effect.never), "ok")))

  it.effect("names the doubles' keys and the remedy, if attempts draw keys", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        idempotency: true,
        timeout: "5 seconds",
        execute: () =>
          Effect.gen(function*() {
            const world = yield* SideEffects.SideEffects
            yield* world.request({ tool: "pay", key: crypto.randomUUID(), details: "order 7" })
            return "paid"
          })
      }).pipe(Tool.onError(Recovery.retry({ times: 2, while: () => true })))
      const paying = Subject.make({
        agent: Agent.make("payer", { tools: [Pay], defaults: { onError: Recovery.keepGoing }, budget }),
        scenarios: { default: { input: "x", model: [ScriptedModel.call("pay", {}), ScriptedModel.text("ok")] } }
      })
      const error = yield* Effect.flip(Laws.check(paying, { runs: 100, interruptions: 10 }))
      if (error._tag !== "LawBroken") return assert.fail(String(error))
      assert.strictEqual(error.law, "writes_at_most_once")
      assert.match(
        error.problem,
        /^pay did it 2 times, of 1 that were asked for; it asked the service under 2 keys: pass ToolCall\.idempotencyKey to the service/
      )
      const requests = error.timeline.split("\n").filter((line) => line.includes(" > pay asks the service "))
      assert.lengthOf(requests, 2, error.timeline)
      for (const line of requests) assert.match(line, /asks the service "order 7" under key [0-9a-f-]{36}$/)
    }), timeout)

  it.effect("in histories, results and events", () =>
    Effect.gen(function*() {
      const plain = yield* Simulation.run(subject, subject.scenarios["both"]!)
      const trial = {
        subject,
        secret: "planted",
        faultless: plain,
        plain,
        again: plain,
        streamed: plain,
        interrupted: plain,
        reordered: plain
      } as never as Laws.Trial
      for (const law of Object.values(Laws.all)) assert.deepStrictEqual(law(trial), [])

      const without = (tag: string): Laws.Trial => ({
        ...trial,
        plain: { ...plain, events: plain.events.filter(({ _tag }) => _tag !== tag) }
      })
      assert.strictEqual(Laws.all.one_result_per_call(without("ToolResult")).length, 3)
      assert.strictEqual(Laws.all.one_terminal_event(without("RunFinished")).length, 1)
      const twice = { ...trial, plain: { ...plain, events: [...plain.events, ...plain.events] } }
      assert.strictEqual(Laws.all.one_result_per_call(twice).length, 3)
      assert.strictEqual(Laws.all.one_terminal_event(twice).length, 1)

      const content = plain.record!.transcript.content
      const history = (keep: (role: string) => boolean): Laws.Trial => ({
        ...trial,
        plain: {
          ...plain,
          record: {
            ...plain.record!,
            transcript: { ...plain.record!.transcript, content: content.filter(({ role }) => keep(role)) }
          }
        }
      })
      assert.isAbove(Laws.all.history_is_well_formed(history((role) => role !== "tool")).length, 0)
      assert.isAbove(Laws.all.history_is_well_formed(history((role) => role !== "assistant")).length, 0)
    }))

  it.effect("is found in reports of lost answers", () =>
    Effect.gen(function*() {
      const plan = FaultPlan.make([FaultPlan.onTool("order", { type: "timeout_after_commit" })])
      const plain = yield* Simulation.run(subject, subject.scenarios["default"]!, { plan })
      const faultless = yield* Simulation.run(subject, subject.scenarios["default"]!)
      const broken = (change: object) => {
        const events = plain.events.map((event) =>
          event._tag === "ToolResult" && event.tool === "order" ? { ...event, ...change } : event
        )
        const trial = {
          subject,
          secret: "planted",
          faultless,
          plain: { ...plain, events },
          again: plain,
          streamed: plain,
          interrupted: plain,
          reordered: plain
        } as never as Laws.Trial
        return Laws.all.ambiguous_writes_reported(trial).map(({ problem }) => problem)
      }
      assert.deepStrictEqual(broken({}), [])
      assert.deepStrictEqual(broken({ code: "not_charged" }), [
        "order call_2 was done and its answer lost, and it is reported as not_charged"
      ])
      assert.strictEqual(broken({ isFailure: false }).length, 1)
    }))

  it.effect("in pauses", () =>
    Effect.gen(function*() {
      const plan = FaultPlan.make([FaultPlan.onApproval("refund", { type: "approval_late" })])
      const plain = yield* Simulation.run(till.subject, till.subject.scenarios["several"]!, { plan })
      assert.strictEqual(Simulation.outcome(plain), "success")
      assert.strictEqual(plain.pauses.length, 3)
      const trialOf = (plain: Simulation.Observation) =>
        ({
          subject: till.subject,
          secret: "planted",
          faultless: plain,
          plain,
          again: plain,
          streamed: plain,
          interrupted: plain,
          reordered: plain
        }) as never as Laws.Trial
      for (const law of Object.values(Laws.all)) assert.deepStrictEqual(law(trialOf(plain)), [])

      const [first, ...others] = plain.pauses
      const problems = (law: Laws.LawName, change: Partial<Simulation.Observation>) =>
        Laws.all[law](trialOf({ ...plain, ...change })).filter(({ run }) => run === "plain").map(({ problem }) =>
          problem
        )
      const withSnapshot = (change: (snapshot: Approval.Snapshot) => Partial<Approval.Snapshot>) => ({
        pauses: [{ ...first!, snapshot: { ...first!.snapshot, ...change(first!.snapshot) } }, ...others]
      })

      // The small refund was done before the pause, and the two others were approved too late, and then in time.
      const again = { tool: "refund", callId: "call_2", attempt: 1, params: {}, after: plain.events.length }
      assert.include(
        problems("no_repeated_calls_after_resume", { executions: [...plain.executions, again] }),
        "refund call_2 had a result before the pause, and was run again"
      )
      assert.deepStrictEqual(
        problems("no_unapproved_calls", { pauses: plain.pauses.map((pause) => ({ ...pause, decisions: [] })) })
          .toSorted(),
        ["pay call_4", "refund call_3", "refund call_5", "refund call_7"].map((call) =>
          `${call} ran without an approval`
        )
      )
      const rejected = plain.pauses.map((pause) => ({
        ...pause,
        decisions: pause.decisions.map((decision) => ({ ...decision, _tag: "Reject" as const, reason: "" }))
      }))
      assert.strictEqual(problems("no_unapproved_calls", { pauses: rejected }).length, 4)
      const early = { tool: "refund", callId: "call_3", attempt: 1, params: {}, after: first!.after }
      assert.include(
        problems("no_unapproved_calls", { executions: [early, ...plain.executions] }),
        "refund call_3 ran without an approval"
      )
      // A tool that needs an approval and never asked.
      assert.isAbove(
        problems("no_unapproved_calls", {
          events: plain.events.map((event) =>
            event._tag === "ApprovalRequested" ? { ...event, callId: "other" } : event
          ),
          pauses: []
        }).length,
        0
      )
      const denied = plain.events.map((event) =>
        event._tag === "ToolResult" && event.callId === "call_2" ? { ...event, code: "permission_denied" } : event
      )
      assert.deepStrictEqual(problems("no_unapproved_calls", { events: denied }), [
        "refund call_2 was denied, and ran"
      ])

      assert.include(
        problems("budgets_survive_pauses", withSnapshot(({ usage }) => ({ usage: { ...usage, fixes: 9 } }))),
        "9 fixes were used before the pause, 1 after it"
      )
      assert.deepStrictEqual(
        problems(
          "budgets_survive_pauses",
          withSnapshot(({ budget }) => ({ budget: { ...budget, used: { ...budget.used, turns: 0, duration: 1 } } }))
        ),
        ["the budget has counted 0 turns of 2", "the budget has counted 1 ms of the 400 that the run ran"]
      )

      const { round } = first!.snapshot
      assert.deepStrictEqual(
        problems(
          "snapshots_cover_all_calls",
          withSnapshot(() => ({ round: { ...round!, pending: round!.pending.slice(1) } }))
        ),
        [
          "the pending calls differ from the snapshot",
          "of the calls [call_2, call_3, call_4, call_5, call_6], [call_2, call_6] have results and [call_4, call_5] wait"
        ]
      )
      assert.deepStrictEqual(
        problems("snapshots_cover_all_calls", withSnapshot(() => ({ runId: "run_x" }))),
        ["the snapshot is of another run: run_x"]
      )
      const open = withSnapshot(({ transcript }) => ({
        transcript: { ...transcript as object, content: (transcript as { content: Array<never> }).content.slice(0, -1) }
      }))
      assert.strictEqual(problems("snapshots_cover_all_calls", open).length, 1)

      const paused = plain.events.filter(({ _tag }) => _tag === "RunFinished").length
      assert.strictEqual(paused, 4)
      const failing = plain.events.map((event) =>
        event._tag === "RunFinished" ? { ...event, outcome: "failure" as const } : event
      )
      assert.strictEqual(problems("one_terminal_event", { events: failing }).length, 3)
      assert.include(
        problems("errors_are_redacted", withSnapshot(() => ({ runId: "planted" }))),
        "the secret is in a snapshot"
      )
      assert.include(
        problems("deadlines_are_respected", { waited: 0 }),
        `the run took ${plain.elapsed} ms of 60000`
      )
    }))

  it.effect("is shrunk to the smallest plan, with timeline and replay", () =>
    Effect.gen(function*() {
      const options: Laws.Options = {
        more: {
          never_times_out: ({ plain }) =>
            plain.events.some((event) => event._tag === "ToolResult" && event.code === "timeout")
              ? [{ run: "plain", problem: "a call timed out" }]
              : []
        },
        runs: 500,
        // Draws such a plan soon after the basic ones.
        seed: 12,
        interruptions: 0
      }
      const error = yield* Effect.flip(Laws.check(subject, options))
      assert.strictEqual(error.law, "never_times_out")
      // Three executions of search have to time out: two retries are declared.
      assert.strictEqual(error.plan.injections.length, 1)
      assert.match(error.message, /search: (timeout|hang|delay .*) at executions 1 to 3/)
      assert.match(error.message, /4000 ms {3}search call_1 attempt 3, at once\n +4000 ms ! search 3: /)
      assert.match(error.message, /6000 ms {3}search call_1 result for the model: timeout/)
      const again = yield* Effect.flip(Laws.check(subject, { ...options, replay: error.replay }))
      assert.deepStrictEqual(again.plan, error.plan)
    }), 120_000)
})
