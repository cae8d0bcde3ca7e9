/** Departures from the protocol that cannot be misread are read; those that can fail with a type. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentEvent, Budget, History, Recovery, Tool } from "@recourse/core"
import { type OpenAiCompatible, Presets } from "@recourse/openai-compatible"
import { Effect, Exit, Schema } from "effect"
import { Prompt } from "effect/ai"
import type { HttpClientRequest } from "effect/http"
import { answering, generate, joined, observe, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const events = (...all: ReadonlyArray<string>): Reply => ({ type: "text/event-stream", body: all.join("") })
const message = (message: object, more: object = {}) => Server.event({ choices: [{ index: 0, message, ...more }] })
const stop = Server.chunk({}, "stop")
const calls = [{ index: "0", id: "a", function: { name: "now", arguments: "{}" } }]

const read: Readonly<Record<string, readonly [Reply, ReadonlyArray<unknown>]>> = {
  "choices that are null": [
    events(Server.event({ choices: null }), Server.chunk({ content: "Hi" }), stop, Server.event({ choices: null })),
    ["Hi"]
  ],
  "a whole message in place of deltas": [
    events(message({ content: "Hi", tool_calls: calls }, { finish_reason: "tool_calls" }), Server.done),
    ["Hi", "now"]
  ],
  "messages that grow": [
    events(message({ content: "H" }), message({ content: "Hi" }, { finish_reason: "stop" }), Server.done),
    ["Hi"]
  ],
  "the whole message behind its deltas": [
    events(Server.chunk({ content: "Hi" }), message({ content: "Hi there" }, { finish_reason: "stop", delta: {} })),
    ["Hi there"]
  ],
  "the trimmed message behind its deltas": [
    events(Server.chunk({ content: "Hi \n" }), message({ content: "Hi" }, { finish_reason: "stop" })),
    ["Hi \n"]
  ],
  "[DONE] in quotes": [events(Server.chunk({ content: "Hi" }), "data: \"[DONE]\"\n\n"), ["Hi"]],
  "an index as text": [
    events(
      Server.event({ choices: [{ index: "0", delta: { tool_calls: calls } }] }),
      Server.chunk({}, "tool_calls"),
      Server.done
    ),
    ["now"]
  ],
  "blank text beside a call": [
    events(Server.chunk({ content: "\n" }), Server.chunk({ content: " " }), Server.chunk({ tool_calls: calls }), stop),
    ["now"]
  ],
  "blanks before text": [events(Server.chunk({ content: "\n" }), Server.chunk({ content: "Hi" }), stop), ["\nHi"]],
  "a pair of surrogates in two chunks": [
    events(Server.event({ choices: [{ delta: { content: "a\ud83d" } }] }), Server.chunk({ content: "\ude00b" }), stop),
    ["a😀b"]
  ],
  "half a pair of surrogates": [
    events(
      Server.chunk({ content: "a\ud83d" }),
      Server.chunk({ content: "b" }),
      Server.chunk({ content: "\ud83d" }),
      stop
    ),
    ["a\ufffdb\ufffd"]
  ]
}

describe("a stream", () => {
  for (const [title, [reply, expected]] of Object.entries(read)) {
    it.effect(`is read with ${title}`, () =>
      Effect.gen(function*() {
        const { error, parts } = yield* observe(stream()).pipe(Effect.provide(answering(reply)))
        assert.isUndefined(error)
        assert.deepStrictEqual(
          joined(parts, true).flatMap((part) =>
            part.type === "text" ? [part.text] : part.type === "tool-call" ? [part.name] : []
          ),
          expected
        )
        assert.isTrue(
          parts.every((part) => JSON.stringify(part).isWellFormed() && !/\\ud[89a-f]/.test(JSON.stringify(part)))
        )
      }))
  }

  it.effect("fails if its messages contradict each other", () =>
    Effect.gen(function*() {
      const reply = events(message({ content: "Hel" }), message({ content: "lo" }, { finish_reason: "stop" }))
      const { error } = yield* observe(stream()).pipe(Effect.provide(answering(reply)))
      assert.strictEqual(error?.reason._tag, "InvalidOutputError")
    }))
})

const textOf = (request: HttpClientRequest.HttpClientRequest | undefined) =>
  new TextDecoder().decode((request?.body as unknown as { readonly body: Uint8Array }).body)

const completion = (message: object, more: object = {}): Reply => ({
  body: JSON.stringify({ model: "m", choices: [{ message, finish_reason: "stop" }], ...more })
})
const called = (name: string, args: string, id = "a") =>
  completion({ content: " ", tool_calls: [{ id, type: "function", function: { name, arguments: args } }] })

describe("half a pair of surrogates", () => {
  it.effect("is in no request, and in no arguments of a tool", () =>
    Effect.gen(function*() {
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      const given: Array<string> = []
      const Read = Tool.make("read", {
        parameters: Schema.Struct({ path: Schema.String }),
        success: Schema.Unknown,
        effects: "read",
        execute: ({ path }) =>
          Effect.sync(() => (given.push(path), { text: "price 😀".slice(0, 7), quoted: "\\ud83d" }))
      })
      yield* Agent.make("a", { tools: [Read], defaults: { onError: Recovery.standard } }).run("x\ud83d").pipe(
        Effect.provide(
          answering(
            [called("read", "{\"path\":\"\\ud83d/\\ud83d\\ude00\"}"), completion({ content: "done" })],
            {},
            seen
          )
        )
      )
      assert.deepStrictEqual(given, ["\ufffd/😀"])
      for (const request of seen) assert.notMatch(textOf(request), /(?<!\\\\)\\ud[89a-f][0-9a-f]{2}/)
      assert.include(textOf(seen[1]), "price \ufffd")
      // Text that looks like an escape stays text.
      assert.include(JSON.stringify(JSON.parse(textOf(seen[1]))), "ud83d")
      assert.include(textOf(seen[1]), "\"content\":null")
    }))
})

describe("usage", () => {
  const usages: ReadonlyArray<readonly [Readonly<Record<string, unknown>>, ReadonlyArray<number | undefined>]> = [
    // Reasoning outside of the output, with and without details.
    [{
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 115,
      completion_tokens_details: { reasoning_tokens: 100 }
    }, [10, undefined, 105, 100]],
    [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 45 }, [10, undefined, 35, 30]],
    [{
      prompt_tokens: 10,
      completion_tokens: 105,
      total_tokens: 115,
      completion_tokens_details: { reasoning_tokens: 100 }
    }, [10, undefined, 105, 100]],
    [{ input_tokens: 10, output_tokens: 5, input_tokens_details: { cached_tokens: 4 } }, [10, 4, 5, undefined]],
    [{ prompt_tokens: 10, completion_tokens: 5, cached_tokens: 4 }, [10, 4, 5, undefined]],
    [{ prompt_tokens: 10, completion_tokens: 5, cache_read_input_tokens: 4 }, [10, 4, 5, undefined]],
    [{ prompt_tokens: 10, total_tokens: 15 }, [10, undefined, 5, undefined]],
    [{ completion_tokens: 5, total_tokens: 15 }, [10, undefined, 5, undefined]]
  ]
  const counted = (parts: ReadonlyArray<Readonly<Record<string, unknown>>>) => {
    const { usage } = parts.at(-1) as unknown as {
      readonly usage: { readonly inputTokens: Record<string, number>; readonly outputTokens: Record<string, number> }
    }
    return [
      usage.inputTokens["total"],
      usage.inputTokens["cacheRead"],
      usage.outputTokens["total"],
      usage.outputTokens["reasoning"]
    ]
  }
  it.effect("is read wherever a server puts it", () =>
    Effect.gen(function*() {
      for (const [usage, expected] of usages) {
        const replies = [
          completion({ content: "Hi" }, { usage }),
          { body: JSON.stringify({ choices: [{ message: { content: "Hi" }, finish_reason: "stop", usage }] }) },
          {
            body: JSON.stringify({
              choices: [{ message: { content: "Hi" }, finish_reason: "stop" }],
              x_groq: { usage }
            })
          }
        ]
        for (const reply of replies) {
          const { content } = yield* generate().pipe(Effect.provide(answering(reply)))
          assert.deepStrictEqual(counted(content as never), expected)
        }
        const last = { index: 0, delta: {}, finish_reason: "stop" }
        const streams = [
          [Server.event({ choices: [last] }), Server.event({ choices: [], usage })],
          [Server.event({ choices: [last] }), Server.event({ choices: null, usage })],
          [Server.event({ choices: [last] }), Server.event({ usage })],
          [Server.event({ choices: [{ ...last, usage }] })],
          [Server.event({ choices: [last], x_groq: { usage } })],
          [
            Server.event({ choices: [], usage: Object.fromEntries(Object.entries(usage).slice(0, 1)) }),
            Server.event({ choices: [last], usage: Object.fromEntries(Object.entries(usage).slice(1)) })
          ]
        ]
        for (const chunks of streams) {
          const reply = events(Server.chunk({ content: "Hi" }), ...chunks, Server.done)
          const { parts } = yield* observe(stream()).pipe(Effect.provide(answering(reply)))
          assert.deepStrictEqual(counted(parts), expected, chunks.join())
        }
      }
    }))
})

describe("a budget", () => {
  const look = Tool.make("look", {
    parameters: Schema.Struct({ n: Schema.Int }),
    success: Schema.String,
    effects: "read",
    execute: ({ n }) => Effect.succeed("x".repeat(200) + n)
  })
  const endless = Array.from({ length: 12 }, (_, n) => called("look", `{"n":${n}}`, `c${n}`))
  for (const budget of [{ tokens: 50 }, { cost: 0.001 }]) {
    it.effect(`of ${Object.keys(budget).join()} ends a run whose server reports no usage`, () =>
      Effect.gen(function*() {
        const seen: Array<HttpClientRequest.HttpClientRequest> = []
        const report = yield* Agent.make("a", { tools: [look], defaults: { onError: Recovery.standard }, budget })
          .report("x")
          .pipe(
            Effect.provide(answering(endless, {}, seen)),
            Effect.provide(Budget.layerPrices({ m: { input: 1000, output: 1000 } }))
          )
        assert.include(JSON.stringify(report.exit), "BudgetExceeded")
        assert.isBelow(seen.length, 3)
        assert.strictEqual(report.usage.estimatedTokens, report.usage.totalTokens)
        assert.isAbove(report.usage.totalTokens, 0)
      }))
  }

  it.effect("without a cap of tokens makes no estimates", () =>
    Effect.gen(function*() {
      const report = yield* Agent.make("a", {}).report("x").pipe(
        Effect.provide(answering(completion({ content: "Hi" })))
      )
      assert.deepStrictEqual([report.usage.totalTokens, report.usage.estimatedTokens], [0, undefined])
    }))

  it.effect("prices an answer's dated name like the requested model", () =>
    Effect.gen(function*() {
      const usage = { prompt_tokens: 10, completion_tokens: 5 }
      for (const priced of ["m", "m-2026-08-06", "m-20250101"]) {
        const report = yield* Agent.make("a", { budget: { cost: 1 } }).report("x").pipe(
          Effect.provide(answering(completion({ content: "Hi" }, { usage, model: "m-2026-08-06" }))),
          Effect.provide(Budget.layerPrices({ [priced]: { input: 1, output: 1_000_000 } }))
        )
        assert.isTrue(Exit.isSuccess(report.exit), priced)
        assert.closeTo(report.usage.cost, 5, 0.01)
      }
    }))
})

describe("files in the result of a tool", () => {
  const Shot = Tool.make("shot", {
    success: Schema.String,
    effects: "read",
    toModelOutput: () => [
      Prompt.textPart({ text: "Home" }),
      Prompt.filePart({ mediaType: "image/png", data: new Uint8Array([137, 80, 78, 71]) })
    ],
    execute: () => Effect.succeed("x")
  })
  const two = completion({
    content: null,
    tool_calls: ["a", "b"].map((id) => ({ id, type: "function", function: { name: "shot", arguments: "{}" } }))
  })
  const sent = (options: Partial<OpenAiCompatible.Options>) =>
    Effect.gen(function*() {
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      yield* Agent.make("a", { tools: [Shot], defaults: { onError: Recovery.standard } }).run("x").pipe(
        Effect.provide(answering([two, completion({ content: "done" })], options, seen))
      )
      const body = JSON.parse(textOf(seen[1])) as {
        readonly messages: ReadonlyArray<{ role: string; content: unknown }>
      }
      return body.messages.slice(2)
    })

  it.effect("reach the model in a user message behind all results", () =>
    Effect.gen(function*() {
      for (const tools of ["native", "inline"] as const) {
        const messages = yield* sent({ quirks: { tools } })
        const last = messages.at(-1)!
        if (tools === "native") assert.deepStrictEqual(messages.map(({ role }) => role), ["tool", "tool", "user"])
        assert.strictEqual(last.role, "user")
        const images = (last.content as ReadonlyArray<{ type: string }>).filter(({ type }) => type === "image_url")
        assert.deepStrictEqual(
          images,
          [1, 2].map(() => ({
            type: "image_url",
            image_url: { url: "data:image/png;base64,iVBORw==" }
          })) as never
        )
      }
    }))

  it.effect("are a note for a model that does not see", () =>
    Effect.gen(function*() {
      const messages = yield* sent({ quirks: { toolFiles: "omit" } })
      assert.deepStrictEqual(messages.map(({ role }) => role), ["tool", "tool"])
      assert.include(JSON.stringify(messages), "[image/png omitted]")
    }))
})

describe("tools", () => {
  it.effect("that are more than the server takes are refused before the request", () =>
    Effect.gen(function*() {
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      const tools = Array.from({ length: 129 }, (_, n) =>
        Tool.make(`tool_${n}`, { effects: "read", execute: () => Effect.void }))
      const agent = Agent.make("a", {
        tools: tools as never,
        defaults: { onError: Recovery.standard },
        maxTools: Infinity
      })
      const error = yield* Effect.flip(agent.run("x")).pipe(
        Effect.provide(answering(completion({ content: "done" }), { quirks: { maxTools: 128 } }, seen))
      )
      assert.include(JSON.stringify(error), "must be at most 128 for this server, and 129 are offered")
      assert.strictEqual(seen.length, 0)
      yield* agent.run("x").pipe(Effect.provide(answering(completion({ content: "done" }), {}, seen)))
      assert.strictEqual(seen.length, 1)
    }))

  it("are limited in the presets of servers that limit them", () => {
    assert.deepStrictEqual(
      (["openai", "gemini", "groq", "ollama", "openrouter"] as const).map((name) => Presets.get(name)?.quirks.maxTools),
      [128, 512, 128, undefined, undefined]
    )
  })
})

describe("a refusal in prose", () => {
  const refusal: Reply = {
    status: 400,
    body: JSON.stringify({ error: { message: "too long", type: "invalid_request_error" } })
  }
  const long = "x".repeat(4000)
  const grow = Tool.make("grow", { success: Schema.String, effects: "read", execute: () => Effect.succeed(long) })
  const run = (replies: ReadonlyArray<Reply>, compact: boolean) =>
    Effect.gen(function*() {
      const seen: Array<HttpClientRequest.HttpClientRequest> = []
      const compactions: Array<string> = []
      const listener = AgentEvent.listen((event) =>
        Effect.sync(() => event._tag === "ContextCompacted" && compactions.push(event.because))
      )
      const report = yield* Agent.make("a", {
        tools: [grow],
        defaults: { onError: Recovery.standard },
        ...(compact ? { compact: { by: History.trimResults({ keep: 0 }) } } : {})
      }).report("x").pipe(Effect.provide([answering(replies, {}, seen), listener]))
      return { report, compactions, sizes: seen.map((request) => textOf(request).length) }
    })

  it.effect("of a larger request than before is shortened and retried once", () =>
    Effect.gen(function*() {
      const { compactions, report, sizes } = yield* run([
        called("grow", "{}"),
        refusal,
        completion({ content: "done" })
      ], true)
      assert.deepStrictEqual(report.exit, Exit.succeed("done"))
      assert.isBelow(sizes[2]!, sizes[1]!)
      assert.deepStrictEqual(compactions, ["context_length"])
      const again = yield* run([called("grow", "{}"), refusal, refusal], true)
      assert.isTrue(Exit.isFailure(again.report.exit))
      assert.strictEqual(again.sizes.length, 3)
    }))

  it.effect("in words in place of an answer is shortened once, and not behind content", () =>
    Effect.gen(function*() {
      const words = JSON.stringify({ error: { message: "too long" } })
      const streamed = (...events: ReadonlyArray<string>): Reply => ({
        type: "text/event-stream",
        body: events.map((data) => `data: ${data}\n\n`).join("")
      })
      const piece = (delta: object) => JSON.stringify({ choices: [{ index: 0, delta }] })
      const refusals: ReadonlyArray<readonly [refusal: Reply, isShortened: boolean]> = [
        [{ body: words }, true],
        [streamed(words), true],
        [streamed(piece({ role: "assistant", content: "" }), words), true],
        [{ type: "text/event-stream", body: `event: error\ndata: too long\n\n` }, true],
        [streamed(piece({ content: "Hi" }), words), false],
        [streamed(JSON.stringify({ error: { message: "too long", code: "server_error" } })), false],
        [streamed(JSON.stringify({ error: { message: "too long", code: 500 } })), false]
      ]
      for (const [reply, isShortened] of refusals) {
        const { compactions, sizes } = yield* run([called("grow", "{}"), reply, completion({ content: "done" })], true)
        assert.deepStrictEqual(compactions, isShortened ? ["context_length"] : [], JSON.stringify(reply))
        assert.strictEqual(sizes.length, isShortened ? 3 : 2)
      }
    }))

  it.effect("is an error without compact, for other parameters, or unshortenable", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* run([called("grow", "{}"), refusal], false)).sizes.length, 2)
      const ofTools = { status: 400, body: JSON.stringify({ error: { message: "x", param: "tools[0]" } }) }
      assert.strictEqual((yield* run([called("grow", "{}"), ofTools], true)).sizes.length, 2)
      assert.strictEqual((yield* run([refusal], true)).sizes.length, 1)
    }))
})
