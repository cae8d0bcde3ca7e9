/** Reasoning that a server leaves in the text, between tags at its beginning. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { answering, generate, joined, observe, plain, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

/** Texts of a server, with the reasoning and the text that they are. */
const texts: Readonly<Record<string, readonly [raw: string, parts: ReadonlyArray<readonly [string, string]>]>> = {
  "tags of Qwen and DeepSeek": ["<think>\nHm.\n</think>\n\nYes.", [["reasoning", "\nHm.\n"], ["text", "Yes."]]],
  "tags of Gemini": ["<thought>Hm.</thought>Yes.", [["reasoning", "Hm."], ["text", "Yes."]]],
  "blanks before the tags": ["\n <thinking>Hm.</thinking> Yes.", [["reasoning", "Hm."], ["text", "Yes."]]],
  "no thoughts": ["<think>\n\n</think>\n\nYes.", [["reasoning", "\n\n"], ["text", "Yes."]]],
  "thoughts without an end": ["<think>Hm. <b", [["reasoning", "Hm. <b"]]],
  "a call within the thoughts": [
    "<think><tool_call>\n{\"name\":\"now\"}</think>Yes.",
    [["reasoning", "<tool_call>\n{\"name\":\"now\"}"], ["text", "Yes."]]
  ],
  "tags behind other text": ["Write <think>Hm.</think>", [["text", "Write <think>Hm.</think>"]]],
  "another tag": ["<thin>Yes.</thin>", [["text", "<thin>Yes.</thin>"]]],
  "the beginning of a tag": ["<thi", [["text", "<thi"]]],
  "blanks alone": [" \n", [["text", " \n"]]]
}

const pairs = (parts: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
  parts.flatMap(({ text, type }) => type === "text" || type === "reasoning" ? [[type, text]] : [])

const whole = (content: string): Reply => ({
  body: JSON.stringify({ choices: [{ message: { content }, finish_reason: "stop" }] })
})

const streamed = (pieces: ReadonlyArray<string>): Reply => ({
  type: "text/event-stream",
  body: [...pieces.map((content) => Server.chunk({ content })), Server.chunk({}, "stop"), Server.done].join("")
})

describe.each(Object.entries(texts))("a text with %s", (_, [raw, expected]) => {
  it.effect("is reasoning and text of a whole answer", () =>
    Effect.gen(function*() {
      const { content } = yield* generate().pipe(Effect.provide(answering(whole(raw))))
      assert.deepStrictEqual<unknown>(pairs(content.map(plain)), expected)
    }))

  it.effect("is the same in a stream, in any split", () =>
    Effect.gen(function*() {
      const splits = [[raw], [...raw], raw.match(/[\s\S]{1,3}/g)!, raw.match(/[\s\S]{1,7}/g)!]
      for (const pieces of splits) {
        const { error, parts } = yield* observe(stream()).pipe(Effect.provide(answering(streamed(pieces))))
        assert.isUndefined(error)
        assert.deepStrictEqual<unknown>(pairs(joined(parts, true)), expected)
      }
    }))
})
