/** Answers as providers give them in the field: calls reported twice or left in the text, state that returns, halves of surrogate pairs. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Agent, Budget, Recovery, Tool as RecourseTool } from "@recourse/core"
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, Prompt, type Response, Tool, Toolkit } from "effect/ai"
import { finish, usage, v4 } from "./support/models.ts"

const Ping = Tool.make("ping", {
  parameters: Schema.Struct({ to: Schema.optionalKey(Schema.String) }),
  success: Schema.Unknown
})
const options = {
  prompt: "Hi",
  toolkit: Toolkit.make(Ping),
  disableToolCallResolution: true,
  toolCallValidation: "deferred"
} as const

const call = (toolCallId: string, input: string, providerMetadata?: Record<string, Record<string, string>>) =>
  ({
    type: "tool-call",
    toolCallId,
    toolName: "ping",
    input,
    ...(providerMetadata ? { providerMetadata } : {})
  }) as const

const calls = [
  call("a", "{\"to\":\"x\"}"),
  call("a", "{ \"to\": \"x\" }"),
  call("a", "{\"to\":\"y\"}"),
  call("b", "{\"to\":\"x\"}")
]

const text = (text: string) =>
  [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: text.slice(0, 7) },
    { type: "text-delta", id: "1", delta: text.slice(7) },
    { type: "text-end", id: "1" }
  ] as const

describe("an answer of the field", () => {
  it.effect("has a call once that is reported twice", () =>
    Effect.gen(function*() {
      const expected = [["a", { to: "x" }], ["a", { to: "y" }], ["b", { to: "x" }]]
      const { content } = yield* LanguageModel.generateText(options).pipe(
        Effect.provide(AiSdk.layer(v4({ content: calls }).model))
      )
      assert.deepStrictEqual(
        content.flatMap((part) => part.type === "tool-call" ? [[part.id, part.params]] : []),
        expected
      )
      const parts = yield* Stream.runCollect(LanguageModel.streamText(options)).pipe(
        Effect.provide(AiSdk.layer(v4({ stream: [...calls, finish] }).model))
      )
      assert.deepStrictEqual(
        parts.flatMap((part) => part.type === "tool-call" ? [[part.id, part.params]] : []),
        expected
      )
    }))

  it.effect("fails, retryable, with a call in its text", () =>
    Effect.gen(function*() {
      const left = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}"
      const layer = AiSdk.layer(v4({ content: [{ type: "text", text: left }], stream: [...text(left), finish] }).model)
      const errors = [
        yield* Effect.flip(LanguageModel.generateText(options)).pipe(Effect.provide(layer)),
        yield* Effect.flip(Stream.runDrain(LanguageModel.streamText(options))).pipe(Effect.provide(layer))
      ]
      for (const error of errors) {
        assert.deepStrictEqual([error.reason._tag, error.isRetryable], ["InvalidOutputError", true])
      }
      const untooled = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(Effect.provide(layer))
      assert.strictEqual(untooled.text, left)
    }))

  it.effect("has state that returns to its provider", () =>
    Effect.gen(function*() {
      const google = { google: { thoughtSignature: "c2ln" } }
      const { calls: sent, model } = v4({
        content: [{ type: "reasoning", text: "Hm", providerMetadata: google }, call("a", "{}", google)],
        stream: [
          { type: "reasoning-start", id: "1" },
          { type: "reasoning-delta", id: "1", delta: "Hm" },
          { type: "reasoning-end", id: "1", providerMetadata: google },
          call("a", "{}", google),
          finish
        ]
      })
      const layer = AiSdk.layer(model)
      const { content } = yield* LanguageModel.generateText(options).pipe(Effect.provide(layer))
      const parts = yield* Stream.runCollect(LanguageModel.streamText(options)).pipe(Effect.provide(layer))
      for (const answer of [content, parts]) {
        const history = Prompt.fromResponseParts(answer as unknown as ReadonlyArray<Response.AnyPart>)
        yield* LanguageModel.generateText({ ...options, prompt: history }).pipe(Effect.provide(layer))
        const message = sent.at(-1)!.prompt.find(({ role }) => role === "assistant")!
        assert.deepStrictEqual(
          (message.content as ReadonlyArray<{ readonly providerOptions?: unknown }>).map(({ providerOptions }) =>
            providerOptions
          ),
          [google, google]
        )
      }
    }))

  it.effect("and its next request hold no half of a surrogate pair", () =>
    Effect.gen(function*() {
      const { calls: sent, model } = v4({ content: [{ type: "text", text: "a\ud83d" }] })
      const prompt = Prompt.fromMessages([
        Prompt.systemMessage({ content: "\ud83d" }),
        Prompt.userMessage({ content: [Prompt.textPart({ text: "\ud83d" })] }),
        Prompt.assistantMessage({
          content: [Prompt.toolCallPart({ id: "a", name: "ping", params: { to: "\ud83d" }, providerExecuted: false })]
        }),
        Prompt.toolMessage({
          content: [Prompt.toolResultPart({
            id: "a",
            name: "ping",
            isFailure: false,
            result: { text: "\ud83d" },
            providerExecuted: false
          })]
        })
      ])
      const { text } = yield* LanguageModel.generateText({ prompt }).pipe(Effect.provide(AiSdk.layer(model)))
      assert.strictEqual(text, "a\ufffd")
      const json = JSON.stringify(sent[0]!.prompt)
      assert.notInclude(json, "\\ud83d")
      assert.strictEqual(json.split("\ufffd").length, 5)
    }))

  it.effect("with a number that parsing changes executes no tool", () =>
    Effect.gen(function*() {
      const ran: Array<unknown> = []
      const tool = RecourseTool.make("ping", {
        parameters: Schema.Struct({ to: Schema.Number }),
        effects: "write",
        execute: ({ to }) => Effect.sync(() => void ran.push(to))
      })
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard }, budget: { turns: 2 } })
      for (const number of ["2512292042121000001", "0.12345678901234567891"]) {
        const content = [call("a", `{"to":${number}}`)]
        const { calls: sent, model } = v4({ content, stream: [...content, finish] })
        yield* Effect.exit(agent.run("Hi")).pipe(Effect.provide(AiSdk.layer(model)))
        yield* Effect.exit(Stream.runDrain(agent.stream("Hi"))).pipe(Effect.provide(AiSdk.layer(model)))
        const results = sent.map(({ prompt }) => JSON.stringify(prompt.findLast(({ role }) => role === "tool") ?? null))
        assert.strictEqual(results.filter((text) => text.includes("to: expected a number that keeps")).length, 2)
      }
      assert.deepStrictEqual(ran, [])
    }))

  it.effect("with a number that parsing changes stays text in strict mode", () =>
    Effect.gen(function*() {
      const strict = Tool.make("ping", { parameters: Schema.Struct({ to: Schema.Number }) }).annotate(Tool.Strict, true)
      const input = "{\"to\":0.12345678901234567891}"
      const { content } = yield* LanguageModel.generateText({ ...options, toolkit: Toolkit.make(strict) }).pipe(
        Effect.provide(AiSdk.layer(v4({ content: [call("a", input)] }).model))
      )
      assert.deepStrictEqual(content.flatMap((part) => part.type === "tool-call" ? [part.params] : []), [input])
    }))

  it.effect("is counted by an estimate, and priced by its model's name", () =>
    Effect.gen(function*() {
      const none = {
        inputTokens: { ...usage.inputTokens, total: undefined },
        outputTokens: { ...usage.outputTokens, total: undefined }
      }
      const { model } = v4({ content: [{ type: "text", text: "Hello" }], result: { usage: none } })
      const report = yield* Agent.make("a", { budget: { cost: 1 } }).report("x").pipe(
        Effect.provide(AiSdk.layer(model)),
        Effect.provide(Budget.layerPrices({ "test-1": { input: 1, output: 1 } }))
      )
      assert.isAbove(report.usage.cost, 0)
      assert.strictEqual(report.usage.estimatedTokens, report.usage.totalTokens)
    }))
})
