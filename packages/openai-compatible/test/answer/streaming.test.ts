import { assert, describe, it } from "@effect/vitest"
import type { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect } from "effect"
import { answering, model, observe, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"
import { call, overBytes } from "../support/chunks.ts"

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

  it.effect("with [DONE] and no reason has ended, unless arguments are cut off", () =>
    Effect.gen(function*() {
      for (const [args, reason] of [["{}", "tool-calls"], ["{\"a\":", "unknown"]] as const) {
        const body = Server.chunk({ tool_calls: [call({ index: 0, id: "a" }, "now", args)] }) + Server.done
        const { parts } = yield* overBytes([new TextEncoder().encode(body)])
        assert.deepStrictEqual(parts.at(-1), finish(reason))
      }
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
        assert.deepStrictEqual(parts.at(-1), finish("stop"))
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
