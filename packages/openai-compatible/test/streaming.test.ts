import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Layer } from "effect"
import { answering, bytesClient, ids, joined, model, observe, stream } from "./harness.ts"
import * as Server from "./server.ts"

const call = (fields: Record<string, unknown>, name?: string, args?: unknown) => ({
  ...fields,
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) }
})

const finish = (reason: string, usage = false) => ({
  type: "finish",
  reason,
  usage: usage
    ? { inputTokens: { total: 20, uncached: 16, cacheRead: 4 }, outputTokens: { total: 9, text: 6, reasoning: 3 } }
    : { inputTokens: {}, outputTokens: {} }
})

const metadata = {
  type: "response-metadata",
  id: "chatcmpl-1",
  modelId: "test-model",
  timestamp: "2023-11-14T22:13:20.000Z"
}

const everything = [
  ": PROCESSING\n\n",
  "retry: 10\n\n",
  Server.chunk({ role: "assistant", content: "" }),
  Server.chunk({ reasoning_content: "Hm… " }),
  Server.chunk({ reasoning_content: "yes" }),
  Server.chunk({ content: "Grüße " }).replaceAll("\n", "\r\n"),
  Server.event({ type: "ping" }),
  Server.chunk({ content: "🌍!" }),
  Server.chunk({ tool_calls: [call({ index: 1, id: "call_a", type: "function" }, "parse", "")] }),
  Server.chunk({ tool_calls: [call({ index: 2, id: "call_b", type: "function" }, "parse", "{\"js")] }),
  Server.chunk({ tool_calls: [call({ index: 1 }, undefined, "{\"json\":")] }),
  Server.chunk({
    tool_calls: [call({ index: 2 }, undefined, "on\":\"é\"}"), call({ index: 1 }, undefined, "\"{}\"}")]
  }),
  Server.chunk({}, "tool_calls"),
  Server.usageChunk,
  Server.done
].join("")

/** The reasoning next to calls is returned to the server that sent it. */
const everythingParts = (server = "localhost") => [
  metadata,
  { type: "reasoning-start", id: "reasoning_0" },
  { type: "reasoning-delta", id: "reasoning_0", delta: "Hm… " },
  { type: "reasoning-delta", id: "reasoning_0", delta: "yes" },
  { type: "reasoning-end", id: "reasoning_0" },
  { type: "text-start", id: "text_1" },
  { type: "text-delta", id: "text_1", delta: "Grüße " },
  { type: "text-delta", id: "text_1", delta: "🌍!" },
  { type: "tool-params-start", id: "call_a", name: "parse" },
  { type: "tool-params-start", id: "call_b", name: "parse" },
  { type: "tool-params-delta", id: "call_b", delta: "{\"js" },
  { type: "tool-params-delta", id: "call_a", delta: "{\"json\":" },
  { type: "tool-params-delta", id: "call_b", delta: "on\":\"é\"}" },
  { type: "tool-params-delta", id: "call_a", delta: "\"{}\"}" },
  { type: "text-end", id: "text_1" },
  { type: "tool-params-end", id: "call_a" },
  { type: "tool-params-end", id: "call_b" },
  {
    type: "tool-call",
    id: "call_a",
    name: "parse",
    params: { json: "{}" },
    metadata: { chatCompletions: { server, reasoning: "reasoning_content" } }
  },
  { type: "tool-call", id: "call_b", name: "parse", params: { json: "é" } },
  finish("tool-calls", true)
]

const overBytes = (pieces: ReadonlyArray<Uint8Array>) =>
  observe(stream()).pipe(
    Effect.provide(
      OpenAiCompatible.layer({ baseUrl: "http://localhost/v1", model: "test-model" }).pipe(
        Layer.provide([bytesClient(pieces), ids])
      )
    )
  )

const split = (bytes: Uint8Array, at: number) => [bytes.subarray(0, at), bytes.subarray(at)]

/** Relevant split positions: around the ends of lines and within characters; elsewhere every seventh byte. */
const placesToSplit = (bytes: Uint8Array): ReadonlyArray<number> =>
  Array.from(bytes.keys()).slice(1).filter((at) =>
    at % 7 === 0 || bytes.subarray(at - 2, at + 2).some((byte) => byte >= 0x80 || byte === 10 || byte === 13)
  )

describe("a streamed answer", () => {
  it.effect("is the same in every split into two", () =>
    Effect.gen(function*() {
      const bytes = new TextEncoder().encode(everything)
      for (const at of placesToSplit(bytes)) {
        const { error, parts } = yield* overBytes(split(bytes, at))
        assert.isUndefined(error)
        assert.deepStrictEqual(parts, everythingParts(), `split at byte ${at}`)
      }
    }), 60_000)

  it.effect("is the same byte by byte, over a socket too", () =>
    Effect.gen(function*() {
      const bytes = new TextEncoder().encode(everything)
      const single = Array.from(bytes, (byte) => Uint8Array.of(byte))
      assert.deepStrictEqual((yield* overBytes(single)).parts, everythingParts())
      const server = yield* Server.make({ chunks: single })
      const { error, parts } = yield* observe(stream()).pipe(Effect.provide(model(server.url)))
      assert.isUndefined(error)
      assert.deepStrictEqual(parts, everythingParts(new URL(server.url).host))
      assert.strictEqual(server.requests.length, 1)
    }))

  it.effect("fails equally in every split of an answer with an error", () =>
    Effect.gen(function*() {
      const bytes = new TextEncoder().encode(
        Server.chunk({ content: "ö" }) + Server.event({ error: { code: "insufficient_quota", message: "x" } }) +
          Server.chunk({ content: "never" })
      )
      for (let at = 1; at < bytes.length; at++) {
        const { error, parts } = yield* overBytes(split(bytes, at))
        assert.strictEqual(error?.reason._tag, "QuotaExhaustedError", `split at byte ${at}`)
        assert.deepStrictEqual(parts.map((part) => part.type), ["response-metadata", "text-start", "text-delta"])
      }
    }))

  it.effect(
    "cut off before its last event emits no tool call",
    () =>
      Effect.gen(function*() {
        const body = everything.slice(0, everything.indexOf(Server.chunk({}, "tool_calls")))
        const bytes = new TextEncoder().encode(body)
        for (let length = 1; length <= bytes.length; length++) {
          const { error, parts } = yield* overBytes([bytes.subarray(0, length)])
          assert.strictEqual(error?.reason._tag, "NetworkError", `cut at byte ${length}`)
          assert.isTrue(error?.isRetryable)
          assert.isFalse(parts.some((part) => part.type === "tool-call" || part.type === "finish"))
        }
      }),
    60_000
  )

  it.effect("is whole with a finish reason, also without [DONE]", () =>
    Effect.gen(function*() {
      for (
        const end of [
          Server.chunk({}, "stop"),
          Server.chunk({}, "stop").trimEnd(),
          Server.chunk({}, "stop") + "data: [DONE]",
          Server.chunk({}, "stop") + "data:[DONE]\n\n"
        ]
      ) {
        const { error, parts } = yield* overBytes([new TextEncoder().encode(Server.chunk({ content: "Hi" }) + end)])
        assert.isUndefined(error)
        assert.deepStrictEqual(parts.at(-1), finish("stop"))
      }
    }))

  it.effect("with [DONE] only ends for an unknown reason, without handlers", () =>
    Effect.gen(function*() {
      const body = Server.chunk({ tool_calls: [call({ index: 0, id: "a" }, "now", "{}")] }) + Server.done
      const { parts } = yield* overBytes([new TextEncoder().encode(body)])
      assert.deepStrictEqual(parts.at(-1), finish("unknown"))
    }))
})

const over = (events: ReadonlyArray<string>, options?: Partial<OpenAiCompatible.Options>) =>
  observe(stream()).pipe(Effect.provide(answering({ type: "text/event-stream", body: events.join("") }, options)))

describe("the end of a stream", () => {
  const hi = Server.chunk({ content: "Hi" })

  it.effect("is [DONE], also cut off behind it, or with blanks", () =>
    Effect.gen(function*() {
      for (const done of ["data: [DONE]", "data:   [DONE]  ", "data: [DONE] \n\n"]) {
        const { error, parts } = yield* over([hi, done])
        assert.isUndefined(error)
        assert.deepStrictEqual(parts.at(-1), finish("unknown"))
      }
      const { parts } = yield* over([hi, Server.chunk({}, "stop"), Server.done, hi])
      assert.strictEqual(parts.filter(({ type }) => type === "text-delta").length, 1)
    }))

  it.effect("for an unknown reason follows the server's quirk after [DONE]", () =>
    Effect.gen(function*() {
      const own = Server.chunk({}, "done_well")
      for (
        const [events, unknownFinishReason, reason] of [
          [[hi, own, Server.done], "stop", "stop"],
          [[hi, own, Server.done], "other", "other"],
          [[hi, own], "stop", "other"]
        ] as const
      ) {
        const { parts } = yield* over(events, { quirks: { unknownFinishReason } })
        assert.strictEqual(parts.at(-1)?.reason, reason)
      }
    }))

  it.effect("without any of it is broken, or of another protocol", () =>
    Effect.gen(function*() {
      const ping = Server.event({ type: "ping" })
      for (
        const [events, expected] of [
          [[], "NetworkError"],
          [[ping, hi], "NetworkError"],
          [[hi, ping], "NetworkError"],
          [[ping], "InvalidResponseError"],
          [["data: {\"choi"], "NetworkError"]
        ] as const
      ) {
        const { error } = yield* over(events)
        assert.strictEqual(error?.reason._tag, expected, events.join(""))
      }
      const { error, parts } = yield* over([hi, Server.event({ choices: "none" })])
      assert.strictEqual(error?.reason._tag, "InvalidResponseError")
      assert.deepStrictEqual(parts.map(({ type }) => type), ["response-metadata", "text-start", "text-delta"])
    }))

  it.effect("may be followed by its counts, which come without choices", () =>
    Effect.gen(function*() {
      for (
        const counts of [
          Server.event({ usage: { prompt_tokens: 3 } }),
          Server.event({ usage: { prompt_tokens: 3 }, choices: [] })
        ]
      ) {
        const { parts } = yield* over([
          hi,
          Server.chunk({}, "stop"),
          counts,
          Server.event({ type: "ping" }),
          Server.done
        ])
        assert.deepStrictEqual(parts.at(-1)?.usage, { inputTokens: { total: 3, uncached: 3 }, outputTokens: {} })
      }
    }))

  it.effect("of an event of 11 MB is found, if the limit allows", () =>
    Effect.gen(function*() {
      const delta = "x".repeat(11 * 1024 * 1024)
      const { error, parts } = yield* over([Server.chunk({ content: delta }), Server.chunk({}, "stop"), Server.done])
      assert.isUndefined(error)
      assert.strictEqual((parts.find(({ type }) => type === "text-delta")?.delta as string).length, delta.length)
    }))
})

describe("tool-call deltas", () => {
  const toolCalls = (...deltas: ReadonlyArray<ReadonlyArray<Record<string, unknown>>>) =>
    Effect.map(
      overBytes([
        new TextEncoder().encode(
          deltas.map((tool_calls) => Server.chunk({ tool_calls })).join("") + Server.chunk({}, "tool_calls") +
            Server.done
        )
      ]),
      ({ error, parts }) => {
        assert.isUndefined(error)
        return joined(parts, true).filter((part) => part.type === "tool-call")
          .map(({ id, name, params }) => [id, name, params])
      }
    )

  it.effect("without ids get one each", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0 }, "parse", "{\"json\":"), call({ index: 1 }, "now", "{}")],
          [call({ index: 0 }, undefined, "\"1\"}")]
        ),
        [["id_1", "parse", { json: "1" }], ["id_1_2", "now", {}]]
      )
    }))

  it.effect("with the id on each of them, and an empty one later", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{\"json\"")],
          [call({ index: 0, id: "a" }, undefined, ":")],
          [call({ index: 0, id: "" }, undefined, "\"1\"}")]
        ),
        [["a", "parse", { json: "1" }]]
      )
    }))

  it.effect("of several calls with one index are separated by id", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{\"json\":\"1\"}")],
          [call({ index: 0, id: "b" }, "parse", "{\"json\":")],
          [call({ index: 0 }, undefined, "\"2\"}")]
        ),
        [["a", "parse", { json: "1" }], ["b", "parse", { json: "2" }]]
      )
    }))

  it.effect("of whole calls without index and id are separated by completeness", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({}, "parse", "{\"json\":\"1\"}")],
          [call({}, "parse", { json: "2" })],
          [call({}, "now", "")]
        ),
        [["id_1", "parse", { json: "1" }], ["id_1_2", "parse", { json: "2" }], ["id_1_3", "now", {}]]
      )
    }))

  it.effect("that repeat the name continue the call", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{\"json\":")],
          [call({ index: 0 }, "parse", "\"1\"}")],
          [call({ index: 0 }, "parse", "")]
        ),
        [["a", "parse", { json: "1" }]]
      )
    }))

  it.effect("with an id that another call has get a new one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "call" }, "parse", "{\"json\":\"1\"}")],
          [call({ index: 1, id: "call" }, "now", "{}")]
        ),
        [["call", "parse", { json: "1" }], ["id_1", "now", {}]]
      )
    }))

  it.effect("whose ids change with every delta are joined by index", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a1" }, "parse", "")],
          [call({ index: 0, id: "a2" }, undefined, "{\"json\"")],
          [call({ index: 1, id: "b1" }, "parse", "{\"js")],
          [call({ index: 0, id: "a3" }, undefined, ":\"1\"}"), call({ index: 1, id: "b2" }, undefined, "on\":\"2\"}")]
        ),
        [["a1", "parse", { json: "1" }], ["b1", "parse", { json: "2" }]]
      )
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a1" }, "parse", "{\"json\"")],
          [call({ index: 0, id: "a2" }, "parse", ":\"1\"}")],
          [call({ index: 0, id: "a3" }, "now", "")],
          [call({ index: 0, id: "a4" }, "now", "")]
        ),
        [["a1", "parse", { json: "1" }], ["a3", "now", {}], ["a4", "now", {}]]
      )
    }))

  it.effect("with a duplicate key, or too deep, keep their text", () =>
    Effect.gen(function*() {
      const twice = "{\"json\":\"1\",\"json\":\"2\"}"
      const deep = `{"json":${"[".repeat(5000)}${"]".repeat(5000)}}`
      assert.deepStrictEqual(
        yield* toolCalls([call({ index: 0, id: "a" }, "parse", twice), call({ index: 1, id: "b" }, "parse", deep)]),
        [["a", "parse", twice], ["b", "parse", deep]]
      )
    }))

  it.effect("that repeat the name take time in proportion to their length", () =>
    Effect.gen(function*() {
      const deltas = [
        { length: 60_000, piece: "abcd" },
        // a text that never becomes JSON, and is at an end after each delta
        { length: 30_000, piece: "\"} {\"" }
      ]
      for (const { length, piece } of deltas) {
        const chunks = [
          call({ index: 0, id: "a" }, "parse", "{\"json\":\""),
          ...Array.from({ length }, () => call({ index: 0, id: "a" }, "parse", piece))
        ]
        const start = process.cpuUsage()
        yield* toolCalls(...chunks.map((delta) => [delta]))
        const used = process.cpuUsage(start)
        assert.isBelow((used.user + used.system) / 1e6, 9, "seconds of CPU")
      }
    }), 60_000)

  const one = (text: string) => `{"json":"${text}"}`
  const long = "x".repeat(80)
  const digits = (length: number) => "1".repeat(length)
  /** Deltas, one a chunk, and the calls that they are. */
  const told: Readonly<Record<string, readonly [ReadonlyArray<Record<string, unknown>>, ReadonlyArray<unknown>]>> = {
    "with ids and no index are told apart by them": [
      [
        call({ id: "a" }, "parse", "{\"json\""),
        call({ id: "b" }, "now", "{"),
        call({ id: "a" }, undefined, ":\"1\"}"),
        call({ id: "b" }, undefined, "}")
      ],
      [["a", "parse", { json: "1" }], ["b", "now", {}]]
    ],
    "with an index, of which some have no id": [
      [
        call({ index: 0 }, "parse", "{\"json\""),
        call({ index: 1 }, "parse", "{\"json\""),
        call({ index: 0 }, undefined, ":\"1\"}"),
        call({ index: 1 }, undefined, ":\"2\"}")
      ],
      [["id_1", "parse", { json: "1" }], ["id_1_2", "parse", { json: "2" }]]
    ],
    "with neither continue the last one": [
      [
        call({}, "now", "{}"),
        call({}, "parse", one("1")),
        call({}, "parse", "{\"json\""),
        call({ index: null, id: null }, undefined, ":\"2\"}")
      ],
      [["id_1", "now", {}], ["id_1_2", "parse", { json: "1" }], ["id_1_3", "parse", { json: "2" }]]
    ],
    "whose id comes late are the same call, where they have an index": [
      [call({ index: 0 }, "now", "{}"), call({ index: 0, id: "a" }, "now", "")],
      [["id_1", "now", {}]]
    ],
    "and another one, where they have none": [
      [call({}, "now", "{}"), call({ id: "a" }, "now", "")],
      [["id_1", "now", {}], ["a", "now", {}]]
    ],
    "whose name comes late, with an id of its own, are the same call": [
      [call({ index: 0, id: "a" }, undefined, "{}"), call({ index: 0, id: "b" }, "now", "")],
      [["a", "now", {}]]
    ],
    "without a function say nothing of another call": [
      [call({ index: 0, id: "a" }, "now", "{}"), { index: 0 }, { index: 0, id: "b", function: null }],
      [["a", "now", {}]]
    ],
    "without arguments behind complete ones say nothing of another call": [
      [
        call({ index: 0, id: "a" }, "now", "{}"),
        call({ index: 0 }, "now", null),
        call({ index: 0 }, "now"),
        call({ index: 0 }, "now", "")
      ],
      [["a", "now", {}]]
    ],
    "of a call with long arguments, and of the same one again": [
      [call({}, "parse", one(long)), call({}, "parse", one(long))],
      [["id_1", "parse", { json: long }], ["id_1_2", "parse", { json: long }]]
    ],
    "of a call with arguments in halves, and of another name": [
      [call({ index: 0 }, "parse", "{"), call({ index: 0 }, "now", "{}")],
      [["id_1", "parse", "{"], ["id_1_2", "now", {}]]
    ],
    "of bare values are complete where they are short": [
      [call({}, "now", digits(63)), call({}, "now", "1")],
      [["id_1", "now", digits(63)], ["id_1_2", "now", 1]]
    ],
    "and not where they are long": [[call({}, "now", digits(64)), call({}, "now", "1")], [[
      "id_1",
      "now",
      digits(65)
    ]]]
  }
  for (const [name, [deltas, expected]] of Object.entries(told)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* toolCalls(...deltas.map((delta) => [delta])), expected as never)
      }))
  }

  it.effect("with arguments before the name lose none of them", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls([call({ index: 0, id: "a" }, undefined, "{\"json\":")], [
          call({ index: 0 }, "parse", "\"1\"}")
        ]),
        [["a", "parse", { json: "1" }]]
      )
    }))

  it.effect("with malformed arguments keep them as text", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{json: 1")],
          [call({ index: 1, id: "b" }, "parse", "\"text\"")],
          [call({ index: 2, id: "c" }, "parse", "{\"__proto__\":{\"x\":1}}")],
          [call({ index: 3, id: "d" }, "now", "null")]
        ),
        [
          ["a", "parse", "{json: 1"],
          ["b", "parse", "\"text\""],
          ["c", "parse", "{\"__proto__\":{\"x\":1}}"],
          ["d", "now", {}]
        ]
      )
    }))

  it.effect("of other choices are not those of the answer", () =>
    Effect.gen(function*() {
      const choice = (index: number, content: string, finish: string | null) => ({
        index,
        delta: { content },
        finish_reason: finish
      })
      const chunks = [
        Server.event({ choices: [choice(0, "mine", null), choice(1, "other", "error")] }),
        Server.event({ choices: [choice(1, "other", "length")] }),
        Server.event({ choices: [choice(0, "", "stop")] }),
        Server.done
      ]
      const { error, parts } = yield* overBytes(chunks.map((chunk) => new TextEncoder().encode(chunk)))
      assert.isUndefined(error)
      assert.strictEqual(parts.map(({ delta }) => delta ?? "").join(""), "mine")
      assert.strictEqual(parts.at(-1)?.reason, "stop")
    }))
})
