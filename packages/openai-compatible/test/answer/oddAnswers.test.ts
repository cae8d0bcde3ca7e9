/** Answers that servers write otherwise than the protocol: the same parts, whole and streamed, or a typed failure. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { answering, generate, joined, observe, plain, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

type Part = Readonly<Record<string, unknown>>

const now = { id: "a", type: "function", function: { name: "now", arguments: "{}" } }

/** Text, reasoning and calls of an answer, and the reason of its end. */
const summary = (parts: ReadonlyArray<Part>): ReadonlyArray<string> =>
  parts.flatMap((part) => {
    const value = part["text"] ?? part["name"] ?? part["reason"]
    return value === undefined ? [] : [`${String(part["type"])} ${String(value)}`]
  })

const whole = (message: unknown, finish: unknown = "stop", more: object = {}): Reply => ({
  body: JSON.stringify({ model: "m", choices: [{ index: 0, message, finish_reason: finish }], ...more })
})

const streamOf = (...events: ReadonlyArray<string>): Reply => ({ type: "text/event-stream", body: events.join("") })

/** The message as one delta, and its end. */
const streamed = (message: unknown, finish: unknown = "stop", more: object = {}): Reply =>
  streamOf(
    Server.event({ choices: [{ index: 0, delta: message }], ...more }),
    Server.event({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }),
    Server.done
  )

/** The parts, or the reason of the failure. */
const read = (reply: Reply, mode: "whole" | "stream") =>
  mode === "whole"
    ? generate().pipe(
      Effect.provide(answering(reply)),
      Effect.match({
        onFailure: (error) => "reason" in error ? [error.reason._tag] : [error._tag],
        onSuccess: ({ content }) => summary(content.map(plain))
      })
    )
    : Effect.map(
      observe(stream()).pipe(Effect.provide(answering(reply))),
      ({ error, parts }) => error === undefined ? summary(joined(parts, true)) : [error.reason._tag]
    )

const hi = ["text Hi", "finish stop"]

/** Messages by their fault: how they end, and the parts in both modes. */
const messages: Readonly<
  Record<string, readonly [message: unknown, finish: unknown, expected: ReadonlyArray<string>]>
> = {
  "texts as content": [{ content: ["H", "i"] }, "stop", hi],
  "parts and nulls as content": [{ content: [null, { type: "text", text: "Hi" }] }, "stop", hi],
  "one part as content": [{ content: { type: "text", text: "Hi" } }, "stop", hi],
  "the value of a text": [{ content: [{ type: "text", text: { value: "Hi", annotations: [] } }] }, "stop", hi],
  "a refusal as a part": [{ content: [{ type: "refusal", refusal: "No." }] }, "stop", [
    "text No.",
    "finish content-filter"
  ]],
  "a refusal that is false": [{ content: "Hi", refusal: false }, "stop", hi],
  "reasoning_text": [{ reasoning_text: "Hm.", content: "Hi" }, "stop", ["reasoning Hm.", ...hi]],
  "thinking": [{ thinking: "Hm.", content: "Hi" }, "stop", ["reasoning Hm.", ...hi]],
  "reasoning as an object": [{ reasoning: { content: "Hm." }, content: "Hi" }, "stop", ["reasoning Hm.", ...hi]],
  "reasoning in details alone": [
    { reasoning_details: [{ type: "reasoning.text", text: "Hm." }], content: "Hi" },
    "stop",
    ["reasoning Hm.", ...hi]
  ],
  "reasoning in two fields": [{ reasoning: "Hm.", reasoning_content: "Hm.", content: "Hi" }, "stop", [
    "reasoning Hm.",
    ...hi
  ]],
  "a null among its calls": [{ tool_calls: [null, now] }, "tool_calls", ["tool-call now", "finish tool-calls"]],
  "a number as the reason": [{ content: "Hi" }, 1, ["text Hi", "finish other"]],
  "an unreadable call": [{ content: "" }, "malformed_function_call", ["finish other"]],
  "a guardrail": [{ content: "Hi" }, "guardrail_intervened", ["text Hi", "finish content-filter"]],
  "another name of the limit": [{ content: "Hi" }, "max_output_tokens", ["text Hi", "finish length"]],
  "the older field without a call": [{ content: "Hi", function_call: { name: "", arguments: "" } }, "stop", hi],
  "the older field as an empty list": [{ content: "Hi", function_call: [] }, "stop", hi],
  "the older field without a call next to a call": [
    { tool_calls: [now], function_call: { name: null, arguments: null } },
    "tool_calls",
    ["tool-call now", "finish tool-calls"]
  ],
  "a call without content": [
    { content: "Hi", tool_calls: [{ index: 0, id: "", type: "function", function: { name: "", arguments: "" } }] },
    "stop",
    hi
  ],
  "an empty call": [{ content: "Hi", tool_calls: [{}] }, "stop", hi],
  "a call without a function": [{ content: "Hi", tool_calls: [{ index: 0, function: null }] }, "stop", hi],
  "an empty object as calls": [{ content: "Hi", tool_calls: {} }, "stop", hi],
  "an empty text as calls": [{ content: "Hi", tool_calls: "", function_call: "" }, "stop", hi],
  "false as calls": [{ content: "Hi", tool_calls: false, function_call: false }, "stop", hi],
  "one call without a list": [{ tool_calls: now }, "tool_calls", ["tool-call now", "finish tool-calls"]],
  "a call with an id alone": [{ tool_calls: [{ id: "a", function: { name: "" } }] }, "tool_calls", [
    "InvalidOutputError"
  ]],
  "a call with arguments alone": [{ tool_calls: [{ function: { arguments: "{\"a\":1}" } }] }, "tool_calls", [
    "InvalidOutputError"
  ]],
  "the namespace of Harmony": [
    { tool_calls: [{ ...now, function: { name: "functions.now<|channel|>commentary", arguments: "{}" } }] },
    "tool_calls",
    ["tool-call now", "finish tool-calls"]
  ],
  "the namespace of Gemini": [
    { tool_calls: [{ ...now, function: { name: "default_api:now", arguments: "{}" } }] },
    "tool_calls",
    ["tool-call now", "finish tool-calls"]
  ],
  "the namespace in the older field": [{ function_call: { name: "functions.now", arguments: "{}" } }, "function_call", [
    "tool-call now",
    "finish tool-calls"
  ]],
  "a namespace before a tool that is not offered": [
    { tool_calls: [{ ...now, function: { name: "functions.then", arguments: "{}" } }] },
    "tool_calls",
    ["tool-call functions.then", "finish tool-calls"]
  ],
  "the end of a response": [{ content: "Hi" }, "completed", hi],
  "the end of a turn": [{ content: "Hi" }, "end_of_turn", hi],
  "the name of an enumeration": [{ content: "Hi" }, "FinishReason.STOP", hi],
  "the limit as an enumeration": [{ content: "Hi" }, "FINISH_REASON_MAX_TOKENS", ["text Hi", "finish length"]],
  "a full context": [{ content: "Hi" }, "context_length_exceeded", ["text Hi", "finish length"]],
  "an abort": [{ content: "Hi" }, "abort", ["InternalProviderError"]]
}

describe.each(["whole", "stream"] as const)("an answer (%s)", (mode) => {
  for (const [title, [message, finish, expected]] of Object.entries(messages)) {
    it.effect(`is read with ${title}`, () =>
      Effect.gen(function*() {
        const reply = (mode === "whole" ? whole : streamed)(message, finish)
        assert.deepStrictEqual((yield* read(reply, mode)).filter((part) => part !== "text "), expected)
      }))
  }

  for (const error of ["", {}, { code: 0, message: "success" }, { code: "200" }, { code: null, message: null }]) {
    it.effect(`is read next to the error ${JSON.stringify(error)}`, () =>
      Effect.gen(function*() {
        const reply = (mode === "whole" ? whole : streamed)({ content: "Hi" }, "stop", { error })
        assert.deepStrictEqual(yield* read(reply, mode), hi)
      }))
  }

  it.effect("with an error in its choice is that error", () =>
    Effect.gen(function*() {
      const choice = { index: 0, finish_reason: "error", error: { code: 429, message: "slow" } }
      const reply = mode === "whole"
        ? { body: JSON.stringify({ choices: [{ ...choice, message: { content: "" } }] }) }
        : streamOf(Server.event({ choices: [{ ...choice, delta: { content: "" } }] }), Server.done)
      assert.deepStrictEqual(yield* read(reply, mode), ["RateLimitError"])
    }))

  it.effect("whose only choice has another index is that choice", () =>
    Effect.gen(function*() {
      const reply = mode === "whole"
        ? { body: JSON.stringify({ choices: [{ index: 1, message: { content: "Hi" }, finish_reason: "stop" }] }) }
        : streamOf(
          Server.event({ choices: [{ index: 1, delta: { content: "Hi" } }] }),
          Server.event({ choices: [{ index: 1, delta: {}, finish_reason: "stop" }] }),
          Server.done
        )
      assert.deepStrictEqual(yield* read(reply, mode), hi)
    }))
})

describe("a whole answer", () => {
  for (const choices of [null, []]) {
    it.effect(`with ${JSON.stringify(choices)} as choices is empty, and may be asked for again`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* read({ body: JSON.stringify({ model: "m", choices }) }, "whole"), [
          "InvalidOutputError"
        ])
      }))
  }

  it.effect("with its message as the piece of a stream is read", () =>
    Effect.gen(function*() {
      const choice = { index: 0, delta: { content: "Hi" }, finish_reason: "stop" }
      assert.deepStrictEqual(yield* read({ body: JSON.stringify({ choices: [choice] }) }, "whole"), hi)
    }))

  it.effect("has arguments that are encoded twice as their object", () =>
    Effect.gen(function*() {
      const args = JSON.stringify(JSON.stringify({ json: "1" }))
      for (const text of [args, JSON.stringify(args)]) {
        const { content } = yield* generate().pipe(Effect.provide(answering(
          whole({ tool_calls: [{ id: "a", function: { name: "parse", arguments: text } }] }, "tool_calls")
        )))
        const call = content.find(({ type }) => type === "tool-call")
        assert.deepStrictEqual<unknown>(
          (call as never as { readonly params: unknown }).params,
          text === args ? { json: "1" } : text
        )
      }
    }))

  it.effect("without a message is cut or filtered by its reason, and otherwise no answer", () =>
    Effect.gen(function*() {
      for (const message of [null, undefined]) {
        assert.deepStrictEqual(yield* read(whole(message, "content_filter"), "whole"), ["finish content-filter"])
        assert.deepStrictEqual(yield* read(whole(message, "length"), "whole"), ["finish length"])
        for (const finish of ["stop", null]) {
          assert.deepStrictEqual(yield* read(whole(message, finish), "whole"), ["InvalidResponseError"])
        }
      }
    }))
})

describe("a stream", () => {
  const chunk = (delta: object, finish: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason: finish }]
  })
  const lines = [chunk({ content: "H" }), chunk({ content: "i" }), chunk({}, "stop")].map((one) => JSON.stringify(one))

  for (const type of ["application/x-ndjson", "application/jsonl", "application/json", "text/event-stream", null]) {
    it.effect(`of lines of JSON is read with the type ${type}`, () =>
      Effect.gen(function*() {
        for (const end of ["\n", "\r\n", "\n\n"]) {
          assert.deepStrictEqual(yield* read({ type, body: lines.join(end) + end }, "stream"), hi)
          assert.deepStrictEqual(yield* read({ type, body: lines.join(end) }, "stream"), hi)
        }
      }))
  }

  it.effect("of lines of JSON is the same in any split, and arrives in pieces", () =>
    Effect.gen(function*() {
      const bytes = new TextEncoder().encode(`\n${lines.join("\n")}\n[DONE]\n`)
      for (let at = 1; at < bytes.length; at++) {
        const body = [bytes.slice(0, at), bytes.slice(at)]
        assert.deepStrictEqual(yield* read({ type: "application/x-ndjson", body }, "stream"), hi, `at ${at}`)
      }
    }))

  it.effect("of lines of JSON that ends too early is broken, and one with an error fails with it", () =>
    Effect.gen(function*() {
      const type = "application/x-ndjson"
      assert.deepStrictEqual(yield* read({ type, body: `${lines.slice(0, 2).join("\n")}\n` }, "stream"), [
        "NetworkError"
      ])
      const error = JSON.stringify({ error: { code: "insufficient_quota" } })
      assert.deepStrictEqual(yield* read({ type, body: `${lines[0]}\n${error}\n` }, "stream"), ["QuotaExhaustedError"])
    }))

  it.effect("with an error between its events, on a line of its own, fails with it", () =>
    Effect.gen(function*() {
      const error = JSON.stringify({ error: { code: "insufficient_quota" } })
      const reply = streamOf(Server.chunk({ content: "Hi" }), `${error}\n\n`)
      assert.deepStrictEqual(yield* read(reply, "stream"), ["QuotaExhaustedError"])
    }))

  for (const end of ["[DONE]", "[done]", "DONE", "done", "data: [DONE]"]) {
    it.effect(`that ends with ${end} has ended`, () =>
      Effect.gen(function*() {
        const reply = streamOf(Server.chunk({ content: "Hi" }), `data: ${end}\n\n`)
        assert.deepStrictEqual(yield* read(reply, "stream"), hi)
      }))
  }

  it.effect("with the field name within the data is read", () =>
    Effect.gen(function*() {
      const reply = streamOf(...[...lines, "[DONE]"].map((line) => `data: data: ${line}\n\n`))
      assert.deepStrictEqual(yield* read(reply, "stream"), hi)
    }))

  it.effect("that Groq has stopped early fails, whatever its end", () =>
    Effect.gen(function*() {
      for (const finish of [null, "stop"]) {
        const stopped = Server.event({ ...chunk({}, finish), x_groq: { id: "r", error: "over_capacity" } })
        const reply = streamOf(Server.chunk({ content: "Hi" }), stopped, Server.done)
        assert.deepStrictEqual(yield* read(reply, "stream"), ["InternalProviderError"])
      }
      const whole = Server.event({ ...chunk({ content: "Hi" }, "stop"), x_groq: { id: "r", error: null } })
      assert.deepStrictEqual(yield* read(streamOf(whole), "stream"), hi)
    }))

  it.effect("with an error in a field of its own fails with it", () =>
    Effect.gen(function*() {
      const error = JSON.stringify({ code: 400, type: "exceed_context_size_error", message: "x" })
      for (const before of ["", Server.chunk({ content: "Hi" })]) {
        assert.deepStrictEqual(yield* read(streamOf(before, `error: ${error}\n\n`), "stream"), ["InvalidRequestError"])
      }
    }))

  it.effect("is not ended by a word in an event of another name", () =>
    Effect.gen(function*() {
      const reply = streamOf(
        "event: step\ndata: done\n\n",
        Server.chunk({ content: "Hi" }),
        Server.chunk({}, "stop"),
        Server.done
      )
      assert.deepStrictEqual(yield* read(reply, "stream"), hi)
    }))

  it.effect("is kept alive by words in events of another name, and by null", () =>
    Effect.gen(function*() {
      const reply = streamOf(
        "event: ping\ndata: ping\n\n",
        "data: null\n\n",
        Server.chunk({ content: "Hi" }),
        "event: keepalive\ndata: 2026-01-01T00:00:00Z\n\n",
        Server.chunk({}, "stop"),
        Server.done
      )
      assert.deepStrictEqual(yield* read(reply, "stream"), hi)
    }))

  it.effect("whose chunks have \"null\" as their reason has not ended by it", () =>
    Effect.gen(function*() {
      const piece = Server.event(chunk({ content: "Hi" }, "null"))
      assert.deepStrictEqual(yield* read(streamOf(piece), "stream"), ["NetworkError"])
      assert.deepStrictEqual(yield* read(streamOf(piece, Server.chunk({}, "stop")), "stream"), hi)
    }))

  it.effect("whose arguments have another index than their call is one call", () =>
    Effect.gen(function*() {
      const call = (fields: object, name: string | undefined, args: string) =>
        Server.chunk({
          tool_calls: [{ ...fields, function: { ...(name === undefined ? {} : { name }), arguments: args } }]
        })
      const { error, parts } = yield* observe(stream()).pipe(Effect.provide(answering(streamOf(
        call({ index: 0, id: "a" }, "parse", ""),
        call({ index: 1 }, undefined, "{\"json\""),
        call({ index: 1 }, undefined, ":\"1\"}"),
        Server.chunk({}, "tool_calls"),
        Server.done
      ))))
      assert.isUndefined(error)
      assert.deepStrictEqual(
        joined(parts, true).filter(({ type }) => type === "tool-call").map(({ id, params }) => [id, params]),
        [["a", { json: "1" }]]
      )
    }))
})

describe("usage", () => {
  const usage = (prompt: unknown, completion: unknown, total: unknown = undefined) => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total
  })
  const tokensOf = (parts: ReadonlyArray<Part>) => {
    const { usage } = parts.at(-1) as never as { readonly usage: Record<string, { readonly total?: number }> }
    return [usage["inputTokens"]?.total, usage["outputTokens"]?.total]
  }

  it.effect("is read as text, and rounded up", () =>
    Effect.gen(function*() {
      for (const counts of [usage("10", "5"), usage(10, 5, null), usage(9.2, 4.1), usage("9.5", "5.0")]) {
        const { content } = yield* generate().pipe(
          Effect.provide(answering(whole({ content: "Hi" }, "stop", { usage: counts })))
        )
        assert.deepStrictEqual(tokensOf(content as never), [10, 5], JSON.stringify(counts))
      }
      for (const counts of [usage(-1, "many"), usage("-1", ""), usage("1e3", {})]) {
        const { content } = yield* generate().pipe(
          Effect.provide(answering(whole({ content: "Hi" }, "stop", { usage: counts })))
        )
        assert.deepStrictEqual(tokensOf(content as never), [undefined, undefined], JSON.stringify(counts))
      }
    }))

  it.effect("stays if a later chunk has zeros or nulls", () =>
    Effect.gen(function*() {
      for (const later of [usage(0, 0, 0), usage(null, null, null), usage("0", "0")]) {
        const reply = streamOf(
          Server.chunk({ content: "Hi" }),
          Server.event({ choices: [], usage: usage(10, 5, 15) }),
          Server.chunk({}, "stop"),
          Server.event({ choices: [], usage: later }),
          Server.done
        )
        const { parts } = yield* observe(stream()).pipe(Effect.provide(answering(reply)))
        assert.deepStrictEqual(tokensOf(parts), [10, 5], JSON.stringify(later))
      }
    }))
})
