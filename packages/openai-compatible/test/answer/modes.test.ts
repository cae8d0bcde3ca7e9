/**
 * An answer has the same content whole, streamed, and whole to a stream request: a table of servers' fields next to the
 * text.
 */
import { assert, describe, it } from "@effect/vitest"
import type { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect } from "effect"
import { answering, generate, joined, observe, plain, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

interface Answer {
  readonly message: Record<string, unknown>
  /** Fields next to the choices. */
  readonly rest?: Record<string, unknown>
  readonly finish?: string
  readonly options?: Partial<OpenAiCompatible.Options>
}

const inThreeModes = ({ finish = "stop", message, options, rest }: Answer) =>
  Effect.gen(function*() {
    const head = { id: "1", model: "m", ...rest }
    const body = JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason: finish }] })
    const json = answering({ body }, options)
    const whole = yield* generate().pipe(
      Effect.map((response) => ({ error: undefined, parts: response.content.map(plain) })),
      Effect.catch((error) => Effect.succeed({ error, parts: [] })),
      Effect.provide(json)
    )
    const chunks = [
      Server.event({ ...head, choices: [{ index: 0, delta: message }] }),
      Server.event({ ...head, choices: [{ index: 0, delta: null, finish_reason: finish }] }),
      // Empty fields revert no value.
      Server.event({ usage: null, choices: [] }),
      Server.event({ usage: null }),
      Server.done
    ]
    const streamed = yield* observe(stream()).pipe(
      Effect.provide(answering({ type: "text/event-stream", body: chunks.join("") }, options))
    )
    const other = yield* observe(stream()).pipe(Effect.provide(json))
    if (whole.error !== undefined) {
      for (const { error } of [streamed, other]) {
        assert.strictEqual(error?.message.slice(-60), whole.error.message.slice(-60))
      }
      return [String(whole.error.reason._tag)]
    }
    for (const { error, parts } of [streamed, other]) {
      assert.isUndefined(error)
      assert.deepStrictEqual(joined(parts, parts === streamed.parts), whole.parts)
    }
    return whole.parts
  })

const metadata = { type: "response-metadata", id: "1", modelId: "m" }
const none = { inputTokens: {}, outputTokens: {} }
const finish = (reason = "stop", usage: unknown = none) => ({ type: "finish", reason, usage })
const source = (nth: number, url: string, title = url) => ({
  type: "source",
  sourceType: "url",
  id: `source_${nth}`,
  url,
  title
})
const text = { type: "text", text: "x" }
const call = (id: string, name: string, params: unknown) => ({ type: "tool-call", id, name, params })
const inline = { quirks: { tools: "inline" } } as const
const writtenCall = "<tool_call name=\"now\">{}</tool_call>"
const citation = (url: unknown, title: unknown) => ({ type: "url_citation", url_citation: { url, title } })
const [a, b, c] = ["https://a.test/", "https://b.test/", "https://c.test/"] as const

const answers: Readonly<Record<string, readonly [Answer, ReadonlyArray<unknown>]>> = {
  "sources of three kinds": [
    {
      message: { content: "x", annotations: [citation(a, "A"), citation([b], "B"), citation(7, "7"), null] },
      rest: { search_results: [{ url: b, title: "B" }, { url: c, title: 7 }, { title: "none" }], citations: [c, a, {}] }
    },
    [metadata, text, source(1, a, "A"), source(2, b, "B"), source(3, c), finish()]
  ],
  "search results alone": [
    { message: { content: "x" }, rest: { search_results: [{ url: a, title: "A" }], citations: "none" } },
    [metadata, text, source(1, a, "A"), finish()]
  ],
  "citations alone": [
    { message: { content: "x", annotations: "none" }, rest: { citations: [b] } },
    [metadata, text, source(1, b), finish()]
  ],
  "a refusal": [
    { message: { content: null, refusal: "No." } },
    [metadata, { type: "text", text: "No." }, finish("content-filter")]
  ],
  "no refusal": [{ message: { content: "x", refusal: "" } }, [metadata, text, finish()]],
  "the older field of a call": [
    { message: { content: null, function_call: { name: "now", arguments: "{}" } }, finish: "function_call" },
    [metadata, call("id_1", "now", {}), finish("tool-calls")]
  ],
  "calls without arguments, with ids that are none": [
    {
      message: {
        tool_calls: [
          { index: 0, id: null, function: { name: "now", arguments: null } },
          { index: 1, id: "", function: { name: "now" } },
          { index: 2, id: 7, function: { name: "parse", arguments: { json: "1" } } }
        ]
      }
    },
    [
      metadata,
      call("id_1", "now", {}),
      call("id_1_2", "now", {}),
      call("7", "parse", { json: "1" }),
      finish("tool-calls")
    ]
  ],
  "a call without its function": [{ message: { tool_calls: [{ index: 0, id: "a" }] } }, ["InvalidOutputError"]],
  "reasoning in its own field": [
    { message: { reasoning: "Hm", content: "x" } },
    [metadata, { type: "reasoning", text: "Hm" }, text, finish()]
  ],
  "reasoning in both fields": [
    { message: { reasoning_content: "Hm", reasoning: "other", content: "x" } },
    [metadata, { type: "reasoning", text: "Hm" }, text, finish()]
  ],
  "reasoning in the content": [
    {
      message: {
        content: [
          { type: "reasoning", text: "Hm, " },
          { type: "thinking", thinking: [{ type: "text", text: "y" }, { type: "image" }, { text: "es" }] },
          { type: "text", text: "x" },
          { type: "image" },
          { type: "thinking", thinking: "so" }
        ]
      }
    },
    [metadata, { type: "reasoning", text: "Hm, yes" }, text, { type: "reasoning", text: "so" }, finish()]
  ],
  "no content": [{ message: {} }, [metadata, finish()]],
  "a call in the text, of a server that has tools": [
    { message: { content: writtenCall } },
    [metadata, { type: "text", text: writtenCall }, finish()]
  ],
  "a call in the text alone, of a server that has none": [
    { message: { content: writtenCall }, options: inline },
    [metadata, call("id_1", "now", {}), finish("tool-calls")]
  ],
  "a call in the reasoning": [
    { message: { reasoning: writtenCall, content: "x" }, options: inline },
    [metadata, { type: "reasoning", text: writtenCall }, text, finish()]
  ],
  "a server that gave up": [{ message: { content: "" }, finish: "error" }, ["InternalProviderError"]]
}

describe("an answer says the same in every mode", () => {
  for (const [name, [answer, expected]] of Object.entries(answers)) {
    it.effect(name, () => Effect.map(inThreeModes(answer), (parts) => assert.deepStrictEqual(parts, expected as never)))
  }

  /** A server's own facts, and the stored ones. */
  const heads: ReadonlyArray<readonly [Record<string, unknown>, Record<string, unknown> | undefined]> = [
    [{ id: "i", model: undefined }, { id: "i" }],
    [{ id: undefined, model: "n" }, { modelId: "n" }],
    [{ id: 7, model: 7, created: 1 }, { timestamp: "1970-01-01T00:00:01.000Z" }],
    [{ id: "", model: "", created: 253_402_300_799 }, { timestamp: "9999-12-31T23:59:59.000Z" }],
    [{ id: undefined, model: undefined, created: 253_402_300_800 }, undefined],
    [{ id: undefined, model: undefined, created: 0 }, undefined],
    [{ id: "", model: "", created: -1 }, undefined],
    [{ id: "i", model: "n", created: "1" }, { id: "i", modelId: "n" }]
  ]
  it.effect("of its origin", () =>
    Effect.gen(function*() {
      for (const [rest, expected] of heads) {
        assert.deepStrictEqual(
          yield* inThreeModes({ message: { content: "x" }, rest }),
          [...(expected === undefined ? [] : [{ type: "response-metadata", ...expected }]), text, finish()] as never,
          JSON.stringify(rest)
        )
      }
    }))

  const counts: ReadonlyArray<readonly [Record<string, unknown>, Record<string, number>, Record<string, number>]> = [
    [{ prompt_tokens: 0, completion_tokens: 0 }, { total: 0, uncached: 0 }, { total: 0, text: 0 }],
    [{ prompt_tokens: -1, completion_tokens: "many" }, {}, {}],
    [{ prompt_tokens: "10", completion_tokens: 2 ** 53 }, { total: 10, uncached: 10 }, {}],
    [{ prompt_tokens: 9.5, completion_tokens: "1.5" }, { total: 10, uncached: 10 }, { total: 2, text: 2 }],
    [
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 3 }
      },
      { total: 10, uncached: 6, cacheRead: 4, cacheWrite: 2 },
      { total: 5, text: 2, reasoning: 3 }
    ],
    [
      { prompt_tokens: 10, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 5 },
      { total: 10, uncached: 5, cacheRead: 4 },
      {}
    ],
    // More than there are leave none.
    [
      {
        prompt_tokens: 1,
        completion_tokens: 1,
        prompt_cache_hit_tokens: 2,
        completion_tokens_details: { reasoning_tokens: 2 }
      },
      { total: 1, uncached: 0, cacheRead: 2 },
      { total: 1, text: 0, reasoning: 2 }
    ]
  ]
  it.effect("of its tokens", () =>
    Effect.gen(function*() {
      for (const [usage, inputTokens, outputTokens] of counts) {
        assert.deepStrictEqual(
          yield* inThreeModes({ message: { content: "x" }, rest: { usage } }),
          [metadata, text, finish("stop", { inputTokens, outputTokens })] as never,
          JSON.stringify(usage)
        )
      }
    }))
})
