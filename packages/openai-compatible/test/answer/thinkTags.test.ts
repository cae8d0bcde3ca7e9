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

/** Texts of a model whose chat template has written the opening tag. */
const unopened: typeof texts = {
  "a closing tag alone": ["Hm.\n</think>\n\nYes.", [["reasoning", "Hm.\n"], ["text", "Yes."]]],
  "a closing tag at its beginning": ["</think>\nYes.", [["text", "Yes."]]],
  "a tag of its own thoughts": ["Hm. <b>\n</thinking>\r\nYes.", [["reasoning", "Hm. <b>\n"], ["text", "Yes."]]],
  "two closing tags": ["Hm.\n</think>\nYes.\n</think>", [["reasoning", "Hm.\n"], ["text", "Yes.\n</think>"]]],
  "both tags": ["<think>Hm.</think>Yes.", [["reasoning", "Hm."], ["text", "Yes."]]]
}

const quirks = { startsWithReasoning: true }

describe.each(Object.entries(unopened))("an unopened text with %s", (_, [raw, expected]) => {
  it.effect("is reasoning and text of a whole answer, also of an unknown model", () =>
    Effect.gen(function*() {
      for (const options of [{}, { quirks }]) {
        const { content } = yield* generate().pipe(Effect.provide(answering(whole(raw), options)))
        assert.deepStrictEqual<unknown>(pairs(content.map(plain)), expected)
      }
    }))

  it.effect("is the same in a stream of a known model, in any split", () =>
    Effect.gen(function*() {
      for (const pieces of [[raw], [...raw], raw.match(/[\s\S]{1,3}/g)!, raw.match(/[\s\S]{1,7}/g)!]) {
        const { error, parts } = yield* observe(stream()).pipe(Effect.provide(answering(streamed(pieces), { quirks })))
        assert.isUndefined(error)
        assert.deepStrictEqual<unknown>(pairs(joined(parts, true)), expected)
      }
    }))
})

it.effect("a closing tag within a sentence, or behind an opening tag, ends no thoughts", () =>
  Effect.gen(function*() {
    for (const raw of ["Close it by </think>.", "Write\n<think>\nHm.\n</think>\nfirst."]) {
      const { content } = yield* generate().pipe(Effect.provide(answering(whole(raw))))
      assert.deepStrictEqual<unknown>(pairs(content.map(plain)), [["text", raw]])
    }
  }))

it.effect("a text next to reasoning in a field of its own has no thoughts", () =>
  Effect.gen(function*() {
    const message = { reasoning_content: "Hm.", content: "Yes." }
    const expected = [["reasoning", "Hm."], ["text", "Yes."]]
    const body = JSON.stringify({ choices: [{ message, finish_reason: "stop" }] })
    const { content } = yield* generate().pipe(Effect.provide(answering({ body }, { quirks })))
    assert.deepStrictEqual<unknown>(pairs(content.map(plain)), expected)
    const events = [
      Server.chunk({ reasoning_content: "Hm." }),
      Server.chunk({ content: "Yes." }),
      Server.chunk({}, "stop"),
      Server.done
    ]
    const reply: Reply = { type: "text/event-stream", body: events.join("") }
    const { parts } = yield* observe(stream()).pipe(Effect.provide(answering(reply, { quirks })))
    assert.deepStrictEqual<unknown>(pairs(joined(parts, true)), expected)
  }))
