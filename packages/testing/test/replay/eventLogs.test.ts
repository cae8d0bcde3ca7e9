/** A log of events is a recording of an unchanged program, whatever had gone wrong in the run. */
import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, Replay, ScriptedModel, Simulation, Subject } from "@recourse/testing"
import { Effect, Exit, Layer, Option, Schema } from "effect"
import { Agent, AgentEvent, IdempotencyLedger, Recovery, Tool } from "@recourse/core"
import * as till from "../support/till.ts"

const Look = Tool.make("look", {
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.String,
  effects: "read",
  timeout: "2 seconds",
  execute: ({ order }) => Effect.succeed(`${order}: open`)
})

const Refund = Tool.make("refund", {
  parameters: Schema.Struct({ amount: Schema.Int }),
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  timeout: "5 seconds",
  execute: ({ amount }) => Effect.succeed(`refunded ${amount}`)
})

const subject = Subject.make({
  agent: Agent.make("clerk", {
    tools: [Look, Refund],
    defaults: { onError: Recovery.standard },
    approval: { timeToLive: "1 hour" },
    budget: { turns: 6, duration: "60 seconds" }
  }).pipe(Agent.provide(Layer.merge(till.key, IdempotencyLedger.layerMemory))),
  scenarios: {
    default: {
      input: "Refund A",
      model: [
        ScriptedModel.call("look", { order: "A" }),
        ScriptedModel.call("refund", { amount: 5 }),
        ScriptedModel.text("Refunded.")
      ]
    },
    look: { input: "Look", model: [ScriptedModel.call("look", { order: "B" }), ScriptedModel.text("Open.")] }
  }
})

const injections: ReadonlyArray<FaultPlan.Injection> = [
  ...["look", "refund"].flatMap((tool) =>
    (["failure", "network_error", "timeout", "timeout_after_commit", "hang", "delay", "defect"] as const).map((type) =>
      FaultPlan.onTool(tool, { type })
    )
  ),
  ...["look", "refund"].flatMap((tool) => [
    FaultPlan.onTool(tool, { type: "invalid_result" }),
    FaultPlan.onTool(tool, { type: "malformed_arguments" }),
    FaultPlan.onTool(tool, { type: "interruption" })
  ]),
  FaultPlan.onApproval("refund", { type: "approval_rejected", reason: "too much" }),
  FaultPlan.onApproval("refund", { type: "approval_edited", arguments: { amount: 3 } }),
  FaultPlan.onApproval("refund", { type: "approval_responded", result: "by hand" }),
  FaultPlan.onApproval("refund", { type: "approval_missing" }),
  FaultPlan.onApproval("refund", { type: "approval_late" }),
  FaultPlan.onModel({ type: "rate_limit", retryAfter: 100 }),
  FaultPlan.onModel({ type: "model_error", reason: "AuthenticationError" }, { from: 2 }),
  FaultPlan.onModel({ type: "model_hang" }),
  FaultPlan.onModel({ type: "truncated_answer" }),
  FaultPlan.onModel({ type: "unknown_tool" })
]

const differenceOf = (recording: Replay.Recording) =>
  Effect.map(
    Replay.run(subject.agent, recording, subject).pipe(Effect.provide(Subject.layer)),
    ({ difference }) => Option.map(difference, Replay.print)
  )

describe("a log of events", () => {
  for (const injection of injections) {
    const [, name] = FaultPlan.print(FaultPlan.make([injection])).split("\n")
    it.effect(`is a recording: ${name}`, () =>
      Effect.gen(function*() {
        const plan = FaultPlan.make([injection])
        const { events } = yield* Simulation.run(subject, subject.scenarios["default"]!, { plan })
        assert.deepStrictEqual(yield* differenceOf(Replay.fromEvents(events)), Option.none())
      }))
  }

  it.effect("of a streamed run is a recording", () =>
    Effect.gen(function*() {
      const { events } = yield* Simulation.run(subject, subject.scenarios["default"]!, { streaming: true })
      assert.deepStrictEqual(yield* differenceOf(Replay.fromEvents(events)), Option.none())
    }))

  it.effect("of several runs is a recording of each, also parallel ones", () =>
    Effect.gen(function*() {
      const log: Array<AgentEvent.AgentEvent> = []
      const { input, model } = subject.scenarios["look"]!
      const one = Effect.provide(subject.agent.run(input), [ScriptedModel.layer(model), Subject.layer])
      const exits = yield* Effect.all([Effect.exit(one), Effect.exit(one)], { concurrency: 2 }).pipe(
        Effect.provide(AgentEvent.listen((event) => Effect.sync(() => log.push(event))))
      )
      assert.isTrue(exits.every(Exit.isSuccess))
      const runs = [...new Set(log.map(({ runId }) => runId))]
      assert.lengthOf(runs, 2)
      for (const runId of runs) {
        const recording = Replay.fromEvents(log, { runId })
        assert.isTrue(recording.events.every((event) => event.runId === runId))
        assert.deepStrictEqual(yield* differenceOf(recording), Option.none())
      }
      // Without one, the first.
      assert.deepStrictEqual(Replay.fromEvents(log), Replay.fromEvents(log, { runId: runs[0]! }))
    }))
})
