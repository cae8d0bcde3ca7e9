import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Chat, LanguageModel, type Prompt } from "effect/ai"
import { AiToolkit, Recovery, Tool } from "recourse"
import { Down, flaky } from "./kit.ts"

const calls = [ScriptedModel.call("flaky", { n: 7 }), ScriptedModel.text("done")]

describe("AiToolkit.toToolkit", () => {
  it.effect("brings recovery to generateText: the tool is retried, the answer is the tool's", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(1, "read")
      const toolkit = AiToolkit.toToolkit([tool.pipe(Tool.onError(Recovery.retry({ times: 1 })))], {
        defaults: { onError: Recovery.policy({ ExecutionError: "escalate", InvalidArgs: "escalate" }) }
      })
      const response = yield* LanguageModel.generateText({ prompt: "x", toolkit })
      assert.deepStrictEqual(response.toolResults.map((result) => result.result), [7])
      assert.strictEqual(state.runs, 2)
    }).pipe(Effect.provide(ScriptedModel.layer(calls))))

  it.effect("brings recovery to Chat: an escalation is a failed result in its history, and the chat goes on", () =>
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

  it.effect("lets what the recovery leaves fail the call, with its type", () =>
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
})
