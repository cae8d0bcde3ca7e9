import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { model, tools } from "../support/harness.ts"
import * as Server from "../support/server.ts"

/** With effect's own resolution of calls: which handlers run. */
const handled = (reply: Server.Reply) =>
  Effect.gen(function*() {
    const ran: Array<string> = []
    const handlers = tools.toLayer({
      parse: ({ json }) =>
        Effect.sync(() => {
          ran.push(json)
          return 1
        }),
      now: () => Effect.succeed("now")
    })
    const server = yield* Server.make(reply)
    yield* LanguageModel.streamText({ prompt: "Hello", toolkit: tools }).pipe(
      Stream.runDrain,
      Effect.ignore,
      Effect.provide([model(server.url), handlers])
    )
    return ran
  })

const call = Server.chunk({
  tool_calls: [{ index: 0, id: "a", function: { name: "parse", arguments: "{\"json\":\"x\"}" } }]
})

describe("a handler", () => {
  it.effect("runs once for a whole answer's call, never for half one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* handled({ chunks: [call, Server.chunk({}, "tool_calls"), Server.done] }), ["x"])
      assert.deepStrictEqual(yield* handled({ chunks: [call] }), [])
      assert.deepStrictEqual(yield* handled({ chunks: [call], close: "reset" }), [])
      assert.deepStrictEqual(
        yield* handled({ chunks: [call, Server.event({ error: { code: 500 } }), Server.done] }),
        []
      )
      assert.deepStrictEqual(yield* handled({ chunks: [call, Server.chunk({}, "length"), Server.done] }), [])
      assert.deepStrictEqual(yield* handled({ chunks: [call, Server.chunk({}, "content_filter"), Server.done] }), [])
      assert.deepStrictEqual(yield* handled({ chunks: [call, Server.done] }), ["x"])
      const half = Server.chunk({
        tool_calls: [{ index: 0, id: "a", function: { name: "parse", arguments: "{\"json\":\"x\"" } }]
      })
      assert.deepStrictEqual(yield* handled({ chunks: [half, Server.done] }), [])
    }))
})
