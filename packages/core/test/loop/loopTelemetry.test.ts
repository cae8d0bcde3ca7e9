/** Spans and metrics of the loop. */

import { ScriptedModel, TestTracer } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Redacted, Schedule } from "effect"
import { Agent, Approval, Recovery, Telemetry, Tool } from "@recourse/core"
import { Down, flaky } from "../support/kit.ts"
import { call, Echo } from "../support/echoes.ts"

describe("telemetry", () => {
  // Each test has a tool that fails once, and an argument that no random id holds.
  const agentOf = () =>
    Agent.make("a", {
      tools: [flaky(1, "read").tool.pipe(Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever })))]
    })
  const n = 9_007_199_254_740_881
  const script = () => ScriptedModel.layer([ScriptedModel.call("flaky", { n }), ScriptedModel.text("ok")])
  const spansOf = (context: Layer.Layer<never>) =>
    Effect.gen(function*() {
      yield* agentOf().run("x")
      return yield* (yield* TestTracer.TestTracer).spans
    }).pipe(Effect.provide(context), Effect.provide(TestTracer.layer), Effect.provide(script()))

  it.effect("spans follow the conventions; attempts are span events; arguments are left out", () =>
    Effect.gen(function*() {
      const before = (yield* Metric.value(Metric.withAttributes(Telemetry.toolRetries, { tool: "flaky" }))).count
      const spans = yield* spansOf(Layer.empty)
      const names = spans.filter((span) => !span.name.startsWith("LanguageModel")).map((
        span
      ) => [span.name, TestTracer.parentName(span)])
      assert.deepStrictEqual(names, [
        ["invoke_agent a", undefined],
        ["chat unknown", "invoke_agent a"],
        ["execute_tool flaky", "invoke_agent a"],
        ["chat unknown", "invoke_agent a"]
      ])
      const execute = spans.find((span) => span.name === "execute_tool flaky")
      assert.strictEqual(execute?.attributes.get("gen_ai.tool.call.id"), "call_1")
      assert.deepStrictEqual(execute?.events.map(([name]) => name), ["recourse.attempt_failed", "recourse.attempt"])
      assert.notInclude(JSON.stringify(spans.map((span) => [...span.attributes])), String(n))
      const after = (yield* Metric.value(Metric.withAttributes(Telemetry.toolRetries, { tool: "flaky" }))).count
      assert.strictEqual(after - before, 1)
    }))

  it.effect("spans of calls that have no success say why", () =>
    Effect.gen(function*() {
      const Broken = Tool.make("broken", {
        effects: "read",
        execute: () => Effect.fail(new Down())
      }).pipe(Tool.onError(Recovery.escalate("InvalidArgs", "ExecutionError")))
      const Pay = Tool.make("pay", { needsApproval: true, execute: () => Effect.void })
      const asking = Agent.make("a", { tools: [Echo, Broken, Pay], defaults: { onError: Recovery.standard } })
      const types = yield* Effect.gen(function*() {
        yield* asking.start("x")
        const spans = yield* (yield* TestTracer.TestTracer).spans
        return spans.filter(({ name }) => name.startsWith("execute_tool")).map(({ attributes, name }) => [
          name.slice("execute_tool ".length),
          attributes.get("error.type")
        ])
      }).pipe(
        Effect.provide(TestTracer.layer),
        Effect.provideService(Approval.SnapshotKey, Redacted.make("0123456789abcdef0123456789abcdef")),
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls([
            call("echo", { text: "a" }),
            call("echo", {}),
            call("broken", {}),
            call("nobody", {}),
            call("pay", {})
          ])
        ]))
      )
      assert.deepStrictEqual(types, [
        ["echo", undefined],
        ["echo", "missing_required_field"],
        ["broken", "execution_error"],
        ["nobody", "tool_not_found"],
        ["pay", "approval_required"]
      ])
    }))

  it.effect("arguments and results are in spans on request", () =>
    Effect.gen(function*() {
      const spans = yield* spansOf(Layer.succeed(Telemetry.CaptureContent, true))
      const execute = spans.find((span) => span.name === "execute_tool flaky")
      assert.strictEqual(execute?.attributes.get("gen_ai.tool.call.arguments"), `{"n":${n}}`)
      assert.strictEqual(execute?.attributes.get("gen_ai.tool.call.result"), String(n))
    }))
})
