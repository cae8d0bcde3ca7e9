import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Redacted, Schedule, Schema } from "effect"
import { Chat, LanguageModel, type Prompt, Tool as AiTool } from "effect/ai"
import {
  Agent,
  AiToolkit,
  Approval,
  ConfigurationError,
  Recovery,
  Tool,
  ToolCall,
  type ToolError
} from "@recourse/core"
import { Down, flaky, lastResults } from "../support/kit.ts"

const calls = [ScriptedModel.call("flaky", { n: 7 }), ScriptedModel.text("done")]

describe("AiToolkit.toToolkit", () => {
  it.effect("generateText retries the tool and answers with its result", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(1, "read")
      const toolkit = AiToolkit.toToolkit([
        tool.pipe(Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever })))
      ], {
        defaults: { onError: Recovery.policy({ ExecutionError: "escalate", InvalidArgs: "escalate" }) }
      })
      const response = yield* LanguageModel.generateText({ prompt: "x", toolkit })
      assert.deepStrictEqual(response.toolResults.map((result) => result.result), [7])
      assert.strictEqual(state.runs, 2)
    }).pipe(Effect.provide(ScriptedModel.layer(calls))))

  it.effect("Chat keeps an escalation as a failed result and continues", () =>
    Effect.gen(function*() {
      const { tool } = flaky(9, "read")
      const toolkit = AiToolkit.toToolkit([tool], {
        defaults: { onError: Recovery.policy({ ExecutionError: "escalate", InvalidArgs: "escalate" }) }
      })
      const chat = yield* Chat.empty
      yield* chat.generateText({ prompt: "x", toolkit })
      const second = yield* chat.generateText({ prompt: "go on", toolkit })
      assert.strictEqual(second.text, "done")
      const request = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      const result = request.prompt.content.flatMap((message) => message.content as ReadonlyArray<Prompt.Part>)
        .find((part) => part.type === "tool-result") as Prompt.ToolResultPart
      assert.isTrue(result.isFailure)
      assert.strictEqual((result.result as { readonly code: string }).code, "execution_error")
    }).pipe(Effect.provide(ScriptedModel.layer(calls))))

  it.effect("fails a call with the typed errors that its recovery leaves", () =>
    Effect.gen(function*() {
      const broken = Tool.make("flaky", {
        parameters: Schema.Struct({ n: Schema.Number }),
        execute: () => Effect.fail(new Down())
      })
      const toolkit = AiToolkit.toToolkit([broken])
      const reason = yield* LanguageModel.generateText({ prompt: "x", toolkit }).pipe(
        Effect.catchTag("ExecutionError", (error) => Effect.succeed(error.reason._tag))
      )
      assert.strictEqual(reason, "Down")
    }).pipe(Effect.provide(ScriptedModel.layer(calls))))

  /** A tool with a task that continues after the call, and counts of its starts and status queries. */
  const render = () => {
    const state = { begun: 0, asked: [] as Array<string> }
    const tool = Tool.make("render", {
      success: Schema.Struct({ url: Schema.String }),
      effects: "write",
      execute: () => Effect.suspend(() => ToolCall.pending(`job-${++state.begun}`)),
      status: (taskId) =>
        Effect.suspend((): Effect.Effect<{ readonly url: string }, ToolError.Pending | Down, ToolCall.ToolCall> => {
          state.asked.push(taskId)
          return state.asked.length === 1
            ? Effect.fail(new Down())
            : state.asked.length === 2
            ? ToolCall.pending(taskId)
            : Effect.succeed({ url: `/${taskId}.png` })
        })
    }).pipe(Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever })))
    return { state, tool }
  }

  it.effect("offers the status tool of a pending task under its tool's recovery", () =>
    Effect.gen(function*() {
      const { state, tool } = render()
      const toolkit = AiToolkit.toToolkit([tool], { defaults: { onError: Recovery.standard } })
      const chat = yield* Chat.empty
      yield* chat.generateText({ prompt: "Draw a tree", toolkit })
      yield* chat.generateText({ prompt: "Is it done?", toolkit })
      yield* chat.generateText({ prompt: "And now?", toolkit })
      const last = yield* chat.generateText({ prompt: "Show it", toolkit })
      assert.strictEqual(last.text, "Here it is")
      const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
      assert.strictEqual(requests.length, 4)
      for (const { tools } of requests) assert.deepStrictEqual(tools, ["render", "render_status"])
      const results = requests.map(({ prompt }) =>
        prompt.content.flatMap((message) => message.role === "tool" ? lastResults({ content: [message] }) : [])
      )
      assert.deepStrictEqual(results.at(-1)?.map(({ isFailure, result }) => [isFailure, result]), [
        [false, {
          status: "pending",
          task_id: "job-1",
          message_for_model: "The task has started and is not finished.",
          instruction: "Do not begin it again. Ask for its state with render_status and this task_id."
        }],
        [false, {
          status: "pending",
          task_id: "job-1",
          message_for_model: "The task has started and is not finished.",
          instruction: "Do not begin it again. Ask for its state with render_status and this task_id."
        }],
        [false, { url: "/job-1.png" }]
      ])
      assert.strictEqual(state.begun, 1)
      assert.deepStrictEqual(state.asked, ["job-1", "job-1", "job-1"])
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.call("render", {}),
      ScriptedModel.call("render_status", { task_id: "job-1" }),
      ScriptedModel.call("render_status", { task_id: "job-1" }),
      ScriptedModel.text("Here it is")
    ]))))

  it("takes the name of the status tool", () => {
    const taken = Tool.make("render_status", { execute: () => Effect.void })
    assert.throws(() => AiToolkit.toToolkit([render().tool, taken]), ConfigurationError.ConfigurationError)
  })
})

describe("AiToolkit.fromTool", () => {
  it.effect("gives `needsApproval` the conversation that led to the call", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const Definition = AiTool.make("wipe", {
        parameters: Schema.Struct({ disk: Schema.String }),
        success: Schema.String,
        needsApproval: (_, { messages }) => {
          seen.push(messages.map((message) => message.role))
          return !JSON.stringify(messages).includes("I am sure")
        }
      })
      let runs = 0
      const Wipe = AiToolkit.fromTool(Definition, ({ disk }) => Effect.sync(() => `${disk} ${++runs}`))
      const agent = Agent.make("a", { instructions: "Wipe", tools: [Wipe], defaults: { onError: Recovery.standard } })
      const wipe = ScriptedModel.call("wipe", { disk: "a" })

      const paused = yield* agent.start("Wipe disk a").pipe(Effect.provide(ScriptedModel.layer([wipe])))
      assert.strictEqual(paused._tag, "Paused")
      assert.strictEqual(runs, 0)

      const done = yield* agent.start("Wipe disk a, I am sure").pipe(
        Effect.provide(ScriptedModel.layer([wipe, wipe, ScriptedModel.text("done")]))
      )
      assert.deepStrictEqual(done, new Approval.Completed({ output: "done" }))
      assert.strictEqual(runs, 2)
      // As in `effect/ai`: without the answer that has the call.
      assert.deepStrictEqual(seen, [
        ["system", "user"],
        ["system", "user"],
        ["system", "user", "assistant", "tool"]
      ])
    }).pipe(Effect.provide(Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef")))))
})
