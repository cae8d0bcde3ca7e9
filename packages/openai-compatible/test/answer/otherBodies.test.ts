/** Bodies of another kind than the request: events for a whole answer, JSON for a stream, and event streams of other types. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { answering, generate, joined, observe, plain, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const message = {
  reasoning: "Hm.",
  content: "Hi",
  tool_calls: [{ id: "a", function: { name: "now", arguments: "{}" } }]
}
const json = JSON.stringify({ model: "m", choices: [{ message, finish_reason: "tool_calls" }] })

const streamedBody = [
  Server.chunk({ reasoning: "H" }),
  Server.chunk({ reasoning: "m." }),
  Server.chunk({ content: "Hi" }),
  Server.chunk({ tool_calls: [{ index: 0, ...message.tool_calls[0] }] }),
  Server.chunk({}, "tool_calls"),
  Server.done
].join("")

const expected = [["reasoning", "Hm."], ["text", "Hi"], ["tool-call", "now"], ["finish", "tool-calls"]]

const summary = (parts: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
  parts.flatMap((part) => {
    const value = part["text"] ?? part["name"] ?? part["reason"]
    return value === undefined ? [] : [[part["type"], value]]
  })

const generated = (reply: Reply) =>
  Effect.map(generate().pipe(Effect.provide(answering(reply))), ({ content }) => summary(content.map(plain)))

describe("a whole answer", () => {
  for (const type of ["text/event-stream", "application/json", null]) {
    it.effect(`is read from events of the type ${type}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* generated({ type, body: streamedBody }), expected)
      }))
  }

  it.effect("of events that end too early is broken", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(generated({ type: "text/event-stream", body: Server.chunk({ content: "Hi" }) }))
      assert.strictEqual("reason" in error && error.reason._tag, "NetworkError")
    }))

  it.effect("of events with an error is that error", () =>
    Effect.gen(function*() {
      const body = Server.chunk({ content: "Hi" }) + Server.event({ error: { code: 429 } })
      const error = yield* Effect.flip(generated({ type: "text/event-stream", body }))
      assert.strictEqual("reason" in error && error.reason._tag, "RateLimitError")
    }))
})

const streamed = (reply: Reply) => observe(stream()).pipe(Effect.provide(answering(reply)))

/** The text in pieces of some bytes. */
const pieces = (text: string, size: number) => {
  const bytes = new TextEncoder().encode(text)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.slice(n * size, (n + 1) * size))
}

describe("a stream", () => {
  for (const type of ["text/plain; charset=utf-8", "application/octet-stream", null]) {
    it.effect(`is read from events of the type ${type}`, () =>
      Effect.gen(function*() {
        const { error, parts } = yield* streamed({ type, body: streamedBody })
        assert.isUndefined(error)
        assert.deepStrictEqual(summary(joined(parts, true)), expected)
      }))

    it.effect(`is read from JSON of the type ${type}`, () =>
      Effect.gen(function*() {
        for (const body of [pieces(`\n ${json}`, 1), pieces(json, 20)]) {
          const { error, parts } = yield* streamed({ type, body })
          assert.isUndefined(error)
          assert.deepStrictEqual(summary(joined(parts, false)), expected)
        }
      }))

    it.effect(`of a page of the type ${type} is an invalid response`, () =>
      Effect.gen(function*() {
        const { error } = yield* streamed({ type, body: "<html>Log in</html>" })
        assert.strictEqual(error?.reason._tag, "InvalidResponseError")
      }))
  }

  const hi = Server.chunk({ content: "Hi" })
  const bodies: Readonly<Record<string, string>> = {
    "events without data": `data:\n\n${hi}data: \n\n${Server.chunk({}, "stop")}event: end\ndata:\n\n${Server.done}`,
    "no blank lines": `${hi}${Server.chunk({}, "stop")}${Server.done}`.replaceAll("\n\n", "\n")
  }
  for (const [title, body] of Object.entries(bodies)) {
    it.effect(`is read with ${title}`, () =>
      Effect.gen(function*() {
        const { error, parts } = yield* streamed({ type: "text/event-stream", body })
        assert.isUndefined(error)
        assert.deepStrictEqual(summary(joined(parts, true)), [["text", "Hi"], ["finish", "stop"]])
      }))
  }
})
