/** Answers of models that depart from the interface, as packages of plain JavaScript do: they are read, or a typed failure, and never a defect. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Effect, Exit, Schema, Stream } from "effect"
import { AiError } from "effect/ai"
import { firstAnswering, stop, usage } from "./support/models.ts"

type Parts = ReadonlyArray<unknown>

const text = (delta: string, id = "0") => [
  { type: "text-start", id },
  { type: "text-delta", id, delta },
  { type: "text-end", id }
]
const finish = { type: "finish", finishReason: stop, usage }
const done = { content: [{ type: "text", text: "done" }], finishReason: stop, usage, warnings: [] }

/** The answer of an agent with a tool that pays, the payments, and the counted tokens. */
const played = (first: unknown, isStream: boolean) =>
  Effect.gen(function*() {
    const paid: Array<number> = []
    const Pay = Tool.make("pay", {
      parameters: Schema.Struct({ amount: Schema.Number }),
      success: Schema.String,
      effects: "write",
      execute: ({ amount }) => Effect.sync(() => (paid.push(amount), "paid"))
    })
    const agent = Agent.make("a", { tools: [Pay], defaults: { onError: Recovery.standard } })
    const run = isStream
      ? agent.stream("x").pipe(
        Stream.runFold(() => "", (all, event) => event._tag === "TextDelta" ? all + event.delta : all)
      )
      : agent.run("x")
    const exit = yield* Effect.exit(Effect.provide(run, AiSdk.layer(firstAnswering(first, "done"))))
    if (Exit.isSuccess(exit)) return [exit.value, paid]
    const error = Exit.findErrorOption(exit)
    assert.isTrue(error._tag === "Some" && AiError.isAiError(error.value), String(exit))
    return ["AiError", paid]
  })

const call = (fields: object) => ({ type: "tool-call", toolName: "pay", ...fields })
const whole = (fields: object) => ({ ...done, content: [{ type: "text", text: "Hi" }], ...fields })
const withCalls = (...content: Parts) => ({ ...done, content, finishReason: { unified: "tool-calls", raw: "x" } })
const streamWithCalls = (...content: Parts) => [
  ...content,
  { ...finish, finishReason: { unified: "tool-calls", raw: "x" } }
]

/** Whole answers and streams by their oddity, and the end of a run. */
const answers: Readonly<Record<string, readonly [whole: unknown, stream: unknown, end: Parts]>> = {
  "no usage": [whole({ usage: undefined }), [...text("Hi"), { ...finish, usage: undefined }], ["Hi", []]],
  "totals as usage": [
    whole({ usage: { inputTokens: 1, outputTokens: 2 } }),
    [...text("Hi"), { ...finish, usage: { inputTokens: 1, outputTokens: 2 } }],
    ["Hi", []]
  ],
  "no warnings": [whole({ warnings: undefined }), [{ type: "stream-start" }, ...text("Hi"), finish], ["Hi", []]],
  "a word as its reason": [
    whole({ finishReason: "stop" }),
    [...text("Hi"), { ...finish, finishReason: "stop" }],
    ["Hi", []]
  ],
  "no reason": [
    whole({ finishReason: undefined }),
    [...text("Hi"), { ...finish, finishReason: undefined }],
    ["AiError", []]
  ],
  "no content": [whole({ content: undefined }), [finish], ["AiError", []]],
  "parts of unknown kinds, and null": [
    whole({ content: [null, { type: "novelty" }, { type: "text", text: "Hi" }] }),
    [null, { type: "novelty" }, ...text("Hi"), finish],
    ["Hi", []]
  ],
  "an object as the input of a call": [
    withCalls(call({ toolCallId: "a", input: { amount: 5 } })),
    streamWithCalls(call({ toolCallId: "a", input: { amount: 5 } })),
    ["done", [5]]
  ],
  "no input of a call": [
    withCalls(call({ toolCallId: "a" })),
    streamWithCalls(call({ toolCallId: "a" })),
    ["done", []]
  ],
  "no ids of calls": [
    withCalls(call({ input: "{\"amount\":5}" }), call({ input: "{\"amount\":6}" })),
    streamWithCalls(call({ input: "{\"amount\":5}" }), call({ input: "{\"amount\":6}" })),
    ["done", [5, 6]]
  ],
  "nothing": [undefined, undefined, ["AiError", []]],
  "no stream": [{}, {}, ["AiError", []]]
}

describe.each([["whole", false], ["streamed", true]] as const)("an answer (%s)", (_, isStream) => {
  for (const [oddity, [generated, streamed, end]] of Object.entries(answers)) {
    it.effect(`with ${oddity} ends a run by its text or by a typed failure`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* played(isStream ? streamed : generated, isStream), end as never)
      }))
  }
})
