/** Timelines of runs: the count of a failure, unknown outcomes, and deciding people. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentEvent, Approval, Recovery, Tool } from "@recourse/core"
import { RunTimeline } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Data, Effect, Fiber, Layer, Redacted, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"

class Down extends Data.TaggedError("Down") {}

/** The timeline of a program's events, at any end. */
const timelineOf = <A, E, R>(run: Effect.Effect<A, E, R>) => {
  const events: Array<AgentEvent.AgentEvent> = []
  return run.pipe(
    Effect.exit,
    Effect.provideService(AgentEvent.Details, true),
    Effect.provide(AgentEvent.listen((event) => Effect.sync(() => void events.push(event)))),
    Effect.map(() => RunTimeline.fromEvents(events))
  )
}

const broken = Tool.make("look", { effects: "read", execute: () => Effect.fail(new Down()) })

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

describe("a timeline", () => {
  it.effect("counts the run's final failure once, with two texts", () =>
    Effect.gen(function*() {
      const timeline = yield* timelineOf(
        Agent.make("a", { tools: [broken] }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("look", {})]))
        )
      )
      const [failure, ...others] = timeline.failures
      assert.deepStrictEqual(others, [])
      assert.include(failure, { subject: "look", code: "execution_error", endedRun: true, isRecovered: false })
      assert.isUndefined(failure?.model)
      assert.include(failure?.operator, "Down")
      assert.isString(failure?.user)
    }))

  it.effect("counts a failed model call that ended the run once", () =>
    Effect.gen(function*() {
      const timeline = yield* timelineOf(
        Agent.make("a", {}).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.failure("AuthenticationError")]))
        )
      )
      assert.deepStrictEqual(
        timeline.failures.map(({ code, endedRun, subject }) => ({ subject, code, endedRun })),
        [{ subject: "model", code: "authentication", endedRun: true }]
      )
    }))

  it.effect("counts a call with three attempts as one call", () =>
    Effect.gen(function*() {
      const look = broken.pipe(
        Tool.onError((call) =>
          call.pipe(
            Recovery.retry({ times: 2, schedule: Schedule.recurs(2) }),
            Recovery.escalate("ExecutionError", "InvalidArgs")
          )
        )
      )
      const timeline = yield* timelineOf(
        Agent.make("a", { tools: [look] }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("look", {}), ScriptedModel.text("No.")]))
        )
      )
      assert.deepStrictEqual([timeline.calls, timeline.usage.toolCalls], [1, 3])
    }))

  it.effect("has a write as unknown though its recovery answers", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        execute: () => Effect.fail("reset" as const)
      }).pipe(Tool.onError(Effect.catch(() => Effect.succeed("not paid"))))
      const timeline = yield* timelineOf(
        Agent.make("a", { tools: [Pay] }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", {}, { id: "p" }), ScriptedModel.text("No.")]))
        )
      )
      assert.deepStrictEqual(timeline.outcomes.map(({ state, tool }) => [tool, state]), [["pay", "unknown"]])
      assert.strictEqual(timeline.spans.find(({ kind }) => kind === "call")?.state, "unknown")
    }))

  it.effect("has an unanswered write as unknown until its compensation", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", { effects: "write", timeout: "1 second", execute: () => Effect.never })
      const run = Agent.make("a", { tools: [Pay], defaults: { onError: Recovery.standard } }).run("Go").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", {}, { id: "p" }), ScriptedModel.text("Check.")]))
      )
      const fiber = yield* Effect.forkChild(timelineOf(run))
      for (let step = 0; step < 50; step++) yield* Effect.yieldNow
      yield* TestClock.adjust("2 seconds")
      const timeline = yield* Fiber.join(fiber)
      assert.deepStrictEqual(timeline.outcomes.map(({ arguments: args, state, tool }) => [tool, state, args]), [
        ["pay", "unknown", "{}"]
      ])
      assert.strictEqual(timeline.spans.find(({ kind }) => kind === "call")?.state, "unknown")
      const call = timeline.spans[0]!.id
      timeline.next(
        {
          _tag: "ToolCompensated",
          runId: call,
          agentRunId: call,
          path: ["a"],
          sequence: 99,
          at: 1,
          callId: "p",
          tool: "pay",
          outcome: "not_happened"
        },
        timeline.count
      )
      assert.deepStrictEqual(timeline.outcomes.map(({ state }) => state), ["not_happened"])
    }))

  it.effect("names each decision's author, time and changes", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", {
        parameters: Schema.Struct({ euros: Schema.Number }),
        effects: "write",
        needsApproval: true,
        execute: () => Effect.void
      })
      const agent = Agent.make("a", { tools: [Pay], defaults: { onError: Recovery.standard } })
      const model = ScriptedModel.layer([ScriptedModel.call("pay", { euros: 120 }), ScriptedModel.text("Paid.")])
      const timeline = yield* timelineOf(
        Effect.gen(function*() {
          const paused = yield* Effect.flip(agent.run("Go"))
          if (paused._tag !== "ApprovalRequired") return yield* Effect.die(paused)
          yield* TestClock.adjust("5 minutes")
          const { snapshot } = paused
          const decision = Approval.edit(snapshot.round!.pending[0]!, { euros: 50 }, { by: "ada" })
          return yield* agent.resume(snapshot, [decision])
        }).pipe(Effect.provide(Layer.mergeAll(model, key)))
      )
      assert.deepStrictEqual(
        timeline.decisions.map(({ kind, text }) => [kind, text]),
        [["question", "pay waits for a person"], ["approval", "pay is edited by ada: euros 120 → 50"]]
      )
      assert.strictEqual(timeline.spans.find(({ kind }) => kind === "question")?.note, "edited by ada")
      assert.strictEqual(timeline.spans.find(({ kind }) => kind === "call")?.arguments, "{\"euros\":50}")
      assert.deepStrictEqual([timeline.waited, timeline.waitingSince], [300_000, undefined])
    }))
})
