/** Tool calls that a server leaves in the text are a retryable failure if tools are offered, and never an answer. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, ModelError, Recovery, Tool } from "@recourse/core"
import { Drive } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { type AiError, LanguageModel } from "effect/ai"
import { answering, generate, observe, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const whole = (content: string): Reply => ({
  body: JSON.stringify({ choices: [{ message: { content }, finish_reason: "stop" }] })
})
const streamed = (content: string): Reply => ({
  type: "text/event-stream",
  body: [
    ...content.match(/[\s\S]{1,5}/gu)!.map((piece) => Server.chunk({ content: piece })),
    Server.chunk({}, "stop"),
    Server.done
  ].join("")
})

const left = [
  "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
  "I will look.\n<tool_call>{\"name\": \"unknown\"",
  "<tool_call>now\n<arg_key>json</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
  "<tool_call>\n<function=now>\n</function>\n</tool_call>",
  "<function=now>{}</function>",
  "<|python_tag|>now.call()",
  "[TOOL_CALLS]now{}",
  "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}}]",
  "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}",
  "<|start|>assistant<|channel|>analysis<|message|>Hm",
  "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now",
  "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0",
  "<｜DSML｜function_calls>",
  "<invoke name=\"now\">",
  "<minimax:tool_call>\n<invoke name=\"now\">",
  "functools[{\"name\": \"now\"}]",
  "<start_function_call>call:now{}<end_function_call>",
  "```tool_code\nprint(now())\n```",
  "{\"name\": \"now\", \"parameters\": {}}",
  "```json\n[{\"name\": \"parse\", \"arguments\": {\"json\": \"1\"}}]\n```",
  "{\"type\": \"function\", \"function\": {\"name\": \"now\", \"arguments\": {}}}"
]

const answers = [
  "Qwen writes `<tool_call>` before a call, and Mistral `[TOOL_CALLS]`.",
  "For example:\n```xml\n<tool_call>{\"name\": \"now\"}</tool_call>\n```\nThat is all.",
  "Use the <tool_call> element.",
  "{\"name\": \"Ada\", \"parameters\": {}}",
  "{\"name\": \"now\"}",
  "[1, 2]",
  "The function now() gives the time."
]

describe("a call in the text", () => {
  for (const text of left) {
    it.effect(`is no answer: ${text.slice(0, 40).replaceAll("\n", " ")}`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Effect.asVoid(generate())).pipe(Effect.provide(answering(whole(text))))
        assert.deepStrictEqual([
          error._tag === "AiError" && error.reason._tag,
          "isRetryable" in error && error.isRetryable
        ], [
          "InvalidOutputError",
          true
        ])
        const { error: broken, parts } = yield* observe(stream()).pipe(Effect.provide(answering(streamed(text))))
        assert.strictEqual(broken?.reason._tag, "InvalidOutputError")
        assert.isFalse(parts.some(({ type }) => type === "finish"))
        const untooled = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
          Effect.provide(answering(whole(text)))
        )
        assert.strictEqual(untooled.text, text)
        const allowed = yield* generate().pipe(Effect.provide(answering(whole(text), { quirks: { textCalls: [] } })))
        assert.strictEqual(allowed.text, text)
      }))
  }

  for (const text of answers) {
    it.effect(`is none in an answer: ${text.slice(0, 40).replaceAll("\n", " ")}`, () =>
      Effect.gen(function*() {
        const { text: answer } = yield* generate().pipe(Effect.provide(answering(whole(text))))
        assert.strictEqual(answer, text)
        const { error } = yield* observe(stream()).pipe(Effect.provide(answering(streamed(text))))
        assert.isUndefined(error)
      }))
  }

  it.effect("is found in each answer by a program's own pattern, with and without the flag g", () =>
    Effect.gen(function*() {
      for (const flags of ["", "g", "gi"]) {
        const options = { quirks: { textCalls: [new RegExp("CALL:", flags)] } }
        for (const text of ["A CALL: now", "CALL: now", "CALL:"]) {
          const { reason } = yield* Effect.flip(generate()).pipe(
            Effect.provide(answering(whole(text), options))
          ) as Effect.Effect<AiError.AiError>
          assert.strictEqual(reason._tag, "InvalidOutputError", `${flags} ${text}`)
        }
      }
    }))

  it.effect("is asked for once more by an agent that retries", () =>
    Effect.gen(function*() {
      const look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("x") })
      const agent = Agent.make("a", {
        tools: [look],
        defaults: { onError: Recovery.standard },
        onModelError: (error) => error.isRetryable ? ModelError.retry({ times: 1 }) : ModelError.rethrow
      })
      const replies = [whole("<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>"), whole("fine")]
      const fiber = agent.run("Go").pipe(Effect.provide(answering(replies)))
      assert.strictEqual(yield* Drive.drive(fiber), "fine")
    }))
})
