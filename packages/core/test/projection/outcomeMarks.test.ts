import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Schedule, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, AiToolkit, ConfigurationError, Recovery, Tool, ToolCall, ToolError } from "@recourse/core"
import { by, collect, Down, lastResults } from "../support/kit.ts"

const { call, text } = ScriptedModel

const play = <E, R>(
  agent: Agent.Agent<string, unknown, E, R>,
  turns: ReadonlyArray<ScriptedModel.Turn>
) =>
  Effect.gen(function*() {
    const report = yield* agent.report("go")
    const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
    return { report, requests, results: requests.slice(1).map((request) => lastResults(request.prompt)[0]) }
  }).pipe(Effect.provide(ScriptedModel.layer(turns)))

describe("a fallback with a mark", () => {
  const rate = (runs: { count: number }) =>
    Tool.make("rate", {
      success: Schema.Struct({ rate: Schema.Number, day: Schema.String }),
      effects: "read",
      execute: () => Effect.suspend(() => (runs.count++, Effect.fail(new Down())))
    }).pipe(
      Tool.onError((call) =>
        call.pipe(
          Recovery.fallback("ExecutionError", Effect.succeed({ rate: 1.1, day: "2026-01-01" }), {
            degraded: ({ day }) => ({ source: "cache", asOf: DateTime.makeUnsafe(day) })
          })
        )
      )
    )

  const marked = {
    degraded: { source: "cache", asOf: "2026-01-01T00:00:00.000Z" },
    result: { rate: 1.1, day: "2026-01-01" }
  }

  it.effect("reports the source and time of the answer to model and user", () =>
    Effect.gen(function*() {
      const runs = { count: 0 }
      const { events, layer } = collect()
      const { results } = yield* play(Agent.make("a", { tools: [rate(runs)] }), [call("rate", {}), text("ok")]).pipe(
        Effect.provide(layer)
      )
      assert.deepStrictEqual(results[0]?.result, marked)
      assert.isFalse(results[0]?.isFailure)
      assert.strictEqual(runs.count, 1)
      const result = events.find((event) => event._tag === "ToolResult")
      assert.deepStrictEqual(result?._tag === "ToolResult" ? result.degraded : undefined, marked.degraded)
      assert.strictEqual(events.filter((event) => event._tag === "ToolFallback").length, 1)
    }))

  it.effect("leaves the value as it is for code", () =>
    Effect.gen(function*() {
      const value = yield* rate({ count: 0 }).call.pipe(by({}))
      assert.deepStrictEqual(value, marked.result)
    }))

  it.effect("marks no answer that another source failed to give", () =>
    Effect.gen(function*() {
      const tool = Tool.make("rate", {
        success: Schema.Number,
        effects: "read",
        execute: () => Effect.fail(new Down())
      })
        .pipe(
          Tool.onError((call) =>
            call.pipe(
              Recovery.fallback("ExecutionError", Effect.fail("cold" as const), { degraded: { source: "cache" } }),
              Effect.catch(() => Effect.succeed(2))
            )
          )
        )
      const { results } = yield* play(Agent.make("a", { tools: [tool] }), [call("rate", {}), text("ok")])
      assert.strictEqual(results[0]?.result, 2)
    }))

  it.effect("reports it to the model of `generateText` too", () =>
    Effect.gen(function*() {
      const response = yield* LanguageModel.generateText({
        prompt: "rate",
        toolkit: AiToolkit.toToolkit([rate({ count: 0 })])
      })
      assert.deepStrictEqual(response.toolResults[0]?.encodedResult as unknown, marked)
    }).pipe(Effect.provide(ScriptedModel.layer([call("rate", {})]))))
})

describe("a partial success", () => {
  const send = (runs: { count: number }) =>
    Tool.make("send", {
      parameters: Schema.Struct({ to: Schema.Array(Schema.String) }),
      success: Schema.Array(Schema.String),
      effects: "write",
      execute: (
        { to }
      ): Effect.Effect<ReadonlyArray<string>, ToolError.PartialSuccess<string, string>, ToolCall.ToolCall> =>
        Effect.suspend(() => {
          runs.count++
          const failed = to.filter((address) => !address.includes("@"))
          return failed.length === 0 ? Effect.succeed(to) : ToolCall.partial({
            succeeded: to.filter((address) => address.includes("@")),
            failed: failed.map((item) => ({ item, code: "not_an_address", reason: "There is no @ in it" }))
          })
        })
    })

  it.effect("is for the model, part by part, and is not done again", () =>
    Effect.gen(function*() {
      const runs = { count: 0 }
      const agent = Agent.make("a", {
        tools: [
          send(runs).pipe(Tool.onError((call) =>
            call.pipe(Effect.retry({ times: 3 }), Recovery.retry({ times: 3, schedule: Schedule.forever }))
          ))
        ],
        defaults: { onError: Recovery.standard }
      })
      const { results } = yield* play(agent, [call("send", { to: ["a@x", "b", "c@x"] }), text("ok")])
      const { trace_id: _, ...told } = results[0]?.result as Record<string, unknown>
      assert.deepStrictEqual(told, {
        status: "error",
        code: "partial_success",
        message_for_model: "2 parts were done and 1 were not.",
        message_for_user: "A part of it was done.",
        safe_to_retry: false,
        instruction: "Do not repeat the completed parts. Decide about each of the others.",
        succeeded: ["a@x", "c@x"],
        failed: [{ item: "b", code: "not_an_address", reason: "There is no @ in it" }],
        severity: "medium"
      })
      assert.strictEqual(runs.count, 1)
    }))

  it.effect("can be handled by its parts", () =>
    Effect.gen(function*() {
      const tool = send({ count: 0 }).pipe(
        Tool.onError((call) =>
          call.pipe(Effect.catchTag("PartialSuccess", ({ succeeded }) => Effect.succeed(succeeded)))
        )
      )
      assert.deepStrictEqual(yield* tool.call.pipe(by({ to: ["a@x", "b"] })), ["a@x"])
    }))

  it.effect("ends the run with its parts if it is not handled", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [send({ count: 0 })] })
      const error = yield* Effect.flip(agent.run("go")).pipe(
        Effect.provide(ScriptedModel.layer([call("send", { to: ["b"] })]))
      )
      assert.instanceOf(error, ToolError.PartialSuccess)
    }))
})

describe("a task that continues after its call", () => {
  const render = (state: { begun: number; asked: Array<string>; isDone?: boolean }) =>
    Tool.make("render", {
      parameters: Schema.Struct({ scene: Schema.String }),
      success: Schema.Struct({ url: Schema.String }),
      effects: "write",
      execute: () => Effect.suspend(() => ToolCall.pending(`job-${++state.begun}`, { retryAfter: "30 seconds" })),
      status: (taskId) =>
        Effect.suspend((): Effect.Effect<{ readonly url: string }, ToolError.Pending | Down, ToolCall.ToolCall> => {
          state.asked.push(taskId)
          return taskId === "unknown"
            ? Effect.fail(new Down())
            : state.asked.length === 1
            ? ToolCall.pending(taskId)
            : Effect.succeed({ url: `/${taskId}.png` })
        })
    })

  it.effect("starts once; the model queries its status tool until the end", () =>
    Effect.gen(function*() {
      const state = { begun: 0, asked: [] as Array<string> }
      const { events, layer } = collect()
      const agent = Agent.make("a", { tools: [render(state)], defaults: { onError: Recovery.standard } })
      const { report, requests, results } = yield* play(agent, [
        call("render", { scene: "x" }),
        call("render_status", { task_id: "job-1" }),
        call("render_status", { task_id: "job-1" }),
        text("ok")
      ]).pipe(Effect.provide(layer))
      assert.deepStrictEqual(requests.map((request) => request.tools), [
        ["render"],
        ["render", "render_status"],
        ["render", "render_status"],
        ["render", "render_status"]
      ])
      assert.deepStrictEqual(results[0]?.result, {
        status: "pending",
        task_id: "job-1",
        retry_after_ms: 30_000,
        message_for_model: "The task has started and is not finished.",
        instruction: "Do not begin it again. Ask for its state with render_status and this task_id."
      })
      assert.isFalse(results[0]?.isFailure)
      assert.strictEqual((results[1]?.result as { readonly status: string }).status, "pending")
      assert.deepStrictEqual(results[2]?.result, { url: "/job-1.png" })
      assert.strictEqual(state.begun, 1)
      assert.deepStrictEqual(state.asked, ["job-1", "job-1"])
      assert.deepStrictEqual(report.executed.map((call) => [call.tool, call.outcome]), [
        ["render", "success"],
        ["render_status", "success"],
        ["render_status", "success"]
      ])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolPending" ? [event.taskId] : []),
        ["job-1", "job-1"]
      )
    }))

  it.effect("is known from an earlier conversation", () =>
    Effect.gen(function*() {
      const state = { begun: 0, asked: [] as Array<string> }
      const before = yield* play(Agent.make("a", { tools: [render(state)] }), [
        call("render", { scene: "x" }),
        text("It is being made")
      ])
      const { requests } = yield* play(
        Agent.make("a", { tools: [render(state)], prompt: () => before.report.transcript }),
        [call("render_status", { task_id: "job-1" }), text("ok")]
      )
      assert.deepStrictEqual(requests[0]?.tools, ["render", "render_status"])
      assert.deepStrictEqual(state.asked, ["job-1"])
    }))

  it.effect("is asked for under the tool's own recovery", () =>
    Effect.gen(function*() {
      const state = { begun: 0, asked: [] as Array<string> }
      const tool = render(state).pipe(
        Tool.onError((call) =>
          call.pipe(Recovery.retry({ times: 2, schedule: Schedule.forever }), Recovery.escalate("ExecutionError"))
        )
      )
      const { results } = yield* play(Agent.make("a", { tools: [tool] }), [
        call("render", { scene: "x" }),
        call("render_status", { task_id: "unknown" }),
        text("ok")
      ])
      assert.strictEqual((results[1]?.result as { readonly code: string }).code, "execution_error")
      // A read, which may be repeated, of a tool that is a write.
      assert.deepStrictEqual(state.asked, ["unknown", "unknown", "unknown"])
    }))

  it("takes the name of its status tool", () => {
    const taken = Tool.make("render_status", { execute: () => Effect.void })
    assert.throws(
      () => Agent.make("a", { tools: [render({ begun: 0, asked: [] }), taken] }),
      ConfigurationError.ConfigurationError
    )
  })
})
