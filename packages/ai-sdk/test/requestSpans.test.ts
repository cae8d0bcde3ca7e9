/** The span and logs of a request. */

import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { TestTracer } from "@recourse/testing"
import { Effect, Logger, References, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { finish, v4 } from "./support/models.ts"
import { generate, text } from "./support/generatedAnswers.ts"

describe("the span and logs", () => {
  it.effect("have operation, end, and the answer's id", () =>
    Effect.gen(function*() {
      const { model } = v4({
        content: text,
        result: { response: { id: "r", modelId: "m" } },
        stream: [
          { type: "response-metadata", id: "r", modelId: "m" },
          { type: "text-start", id: "part" },
          { type: "text-delta", id: "part", delta: "ok" },
          { type: "text-end", id: "part" },
          finish
        ]
      })
      const spans = yield* Effect.andThen(generate, Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" }))).pipe(
        Effect.provide(AiSdk.layer(model)),
        Effect.andThen(Effect.flatMap(TestTracer.TestTracer, ({ spans }) => spans)),
        Effect.provide(TestTracer.layer)
      )
      assert.deepStrictEqual(
        spans.map(({ attributes }) => [
          attributes.get("gen_ai.operation.name"),
          attributes.get("gen_ai.response.id"),
          attributes.get("gen_ai.response.finish_reasons")
        ]),
        [["chat", "r", ["stop"]], ["chat", "r", ["tool-calls"]]]
      )
    }))

  it.effect("name omitted parts with their tools", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const { model } = v4({
        content: [
          { type: "tool-call", toolCallId: "m", toolName: "remote", input: "{}", providerExecuted: true },
          { type: "tool-result", toolCallId: "m", toolName: "remote", result: 1 }
        ]
      })
      yield* generate.pipe(
        Effect.provide([AiSdk.layer(model), Logger.layer([Logger.make(({ message }) => logged.push(message))])]),
        Effect.provideService(References.MinimumLogLevel, "All")
      )
      assert.deepInclude((logged[0] as ReadonlyArray<unknown>)[1], {
        content: ["tool-call of remote", "tool-result of remote"]
      })
    }))

  it.effect("are silent for a fully decoded answer", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      yield* generate.pipe(
        Effect.provide([
          AiSdk.layer(v4({ content: text }).model),
          Logger.layer([Logger.make(({ message }) => logged.push(message))])
        ]),
        Effect.provideService(References.MinimumLogLevel, "All")
      )
      assert.deepStrictEqual(logged, [])
    }))
})
