import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent } from "@recourse/core"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import { v4 } from "./support/models.ts"

const strict = (description: string) =>
  Tool.make("find", {
    description,
    parameters: Schema.Struct({ name: Schema.optionalKey(Schema.String) }),
    success: Schema.Unknown
  }).annotate(Tool.Strict, true)

/** A transformer that counts the schemas that it converts, and gives them a title. */
const counting = (title: string) => {
  let count = 0
  const codecTransformer: LanguageModel.CodecTransformer = (schema) => {
    count++
    const { codec, jsonSchema } = toCodecOpenAI(schema)
    return { codec, jsonSchema: { ...jsonSchema, title } }
  }
  return { codecTransformer, count: () => count }
}

const send = (tool: ReturnType<typeof strict>, codecTransformer: LanguageModel.CodecTransformer) =>
  Effect.gen(function*() {
    const { calls, model } = v4({})
    yield* LanguageModel.generateText({
      prompt: "Hi",
      toolkit: Toolkit.make(tool),
      disableToolCallResolution: true,
      toolCallValidation: "deferred"
    }).pipe(Effect.provide(AiSdk.layer(model, { codecTransformer })))
    return calls[0]!.tools![0] as { description: string; inputSchema: unknown }
  })

describe("the tools of a request", () => {
  it.effect("convert a schema once for a definition and a transformer", () =>
    Effect.gen(function*() {
      const tool = strict("One")
      const one = counting("one")
      const two = counting("two")
      const first = yield* send(tool, one.codecTransformer)
      first.description = "changed by a model"
      const second = yield* send(tool, one.codecTransformer)
      assert.strictEqual(second.description, "One")
      assert.deepStrictEqual(second.inputSchema, first.inputSchema)
      assert.propertyVal((yield* send(tool, two.codecTransformer)).inputSchema, "title", "two")
      assert.propertyVal(second.inputSchema, "title", "one")
      assert.deepStrictEqual([one.count(), two.count()], [1, 1])
      assert.strictEqual((yield* send(strict("Two"), one.codecTransformer)).description, "Two")
    }))
})

describe("the format of a request", () => {
  it.effect("converts its schema once for a transformer", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ content: [{ type: "text", text: `{"name":"a"}` }] })
      const { codecTransformer, count } = counting("one")
      const agent = Agent.make("finder", { output: Schema.Struct({ name: Schema.String }) })
      const runs = Effect.forEach([1, 2, 3], () => agent.run("Find"))
      assert.deepStrictEqual(yield* Effect.provide(runs, AiSdk.layer(model, { codecTransformer })), [
        { name: "a" },
        { name: "a" },
        { name: "a" }
      ])
      assert.deepStrictEqual(calls.map(({ responseFormat }) => responseFormat?.type), ["json", "json", "json"])
      assert.strictEqual(count(), 1)
    }))
})
