/** Servers' text stays text: no name in it is looked up on a prototype, and no number is more than a number. */
import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Agent, TransportRetry } from "@recourse/core"
import { Duration, Effect, Exit, Layer } from "effect"
import { AiError } from "effect/ai"
import { Headers, HttpClient, HttpClientResponse } from "effect/http"
import { inheritedNames as names } from "../../../../test/support/inheritedNames.ts"
import { generate, ids, observe, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

/** A word that no server uses, with which each name is compared. */
const unheardOf = "unheard_of"

/** Some of each kind of inherited name: the places are many. */
const someNames = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "map",
  "call",
  "prototype",
  "then",
  "toJSON",
  "_tag"
]

interface Reply {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body: string
}

const client = (reply: Reply) =>
  Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.sync(() =>
        HttpClientResponse.fromWeb(
          request,
          new Response(reply.body, {
            status: reply.status ?? 200,
            headers: { "content-type": "application/json", ...reply.headers }
          })
        )
      )
    )
  )

const layer = (reply: Reply) =>
  OpenAiCompatible.layer({ baseUrl: "http://host/v1", model: "m", retry: false }).pipe(
    Layer.provide([client(reply), ids])
  )

/** An object with the tested key renamed: parts keep unread fields. */
const withoutKey = (value: unknown, word: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, word) && Reflect.get(value, word) === word
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key === word ? "WORD" : key, item]))
    : value

/** Outcome of an answer, with the tested word removed. A defect fails the test. */
const outcome = (reply: Reply, word: string) =>
  Effect.gen(function*() {
    const whole = yield* generate().pipe(
      Effect.map((response) => response.content as ReadonlyArray<unknown>),
      Effect.provide(layer(reply)),
      Effect.exit
    )
    const streamed = yield* observe(stream()).pipe(Effect.provide(layer(reply)), Effect.exit)
    assert.isTrue(Exit.isSuccess(streamed), `${word}: ${String(streamed)}`)
    const exits = [
      Exit.isSuccess(whole) ? { parts: whole.value } : { failure: Exit.findErrorOption(whole) },
      Exit.isSuccess(streamed) ? streamed.value : undefined
    ]
    if (Exit.isFailure(whole)) {
      const error = Exit.findErrorOption(whole)
      assert.isTrue(error._tag === "Some" && AiError.isAiError(error.value), `${word}: ${String(whole)}`)
    }
    return JSON.stringify(
      exits,
      (key, value: unknown) =>
        key === "http" || key === "cause"
          ? undefined
          : value === word
          ? "WORD"
          : typeof value === "string"
          ? value.replace(`(code ${word})`, "(code WORD)")
          : withoutKey(value, word)
    )
  })

const error = (fields: unknown, status: number): Reply => ({ status, body: JSON.stringify({ error: fields }) })

const completion = (message: unknown, finish: string, rest: Record<string, unknown> = {}): Reply => ({
  body: JSON.stringify({
    id: "1",
    model: "m",
    choices: [{ index: 0, message, finish_reason: finish }],
    ...rest
  })
})

const events = (...chunks: ReadonlyArray<string>): Reply => ({
  headers: { "content-type": "text/event-stream" },
  body: chunks.join("")
})

const places: Record<string, (word: string) => Reply> = {
  ...Object.fromEntries([200, 400, 401, 403, 404, 409, 418, 429, 500, 503].flatMap((status) => [
    [`the code of an error ${status}`, (word: string) => error({ code: word }, status)],
    [`the type of an error ${status}`, (word: string) => error({ type: word }, status)]
  ])),
  "the parameter of an error": (word) => error({ param: word }, 400),
  "the status of an error": (word) => error({ status: word }, 400),
  "the inner code of an error": (word) => error({ innererror: { code: word, type: word } }, 400),
  "a reason in the details of an error": (word) => error({ details: [{ reason: word }, word] }, 400),
  "a key of an error": (word) => ({ status: 400, body: `{"error":{${JSON.stringify(word)}:{"code":429}}}` }),
  "the error itself": (word) => error(word, 400),
  "the whole body": (word) => ({ status: 400, body: JSON.stringify({ [word]: word, type: word, object: word }) }),
  "a header": (word) => ({
    ...error({}, 429),
    headers: { "x-should-retry": word, "retry-after": word, "retry-after-ms": word, "x-request-id": word }
  }),
  "the finish reason": (word) => completion({ content: "x" }, word),
  "the finish reason of a call": (word) =>
    completion({ tool_calls: [{ id: "a", function: { name: "now", arguments: "{}" } }] }, word),
  "the id and the model": (word) => completion({ content: "x" }, "stop", { id: word, model: word }),
  "a field of the usage": (word) =>
    completion({ content: "x" }, "stop", {
      usage: { [word]: word, prompt_tokens: word, prompt_tokens_details: word, completion_tokens_details: [word] }
    }),
  "a citation": (word) => completion({ content: "x", annotations: [word] }, "stop", { citations: [word] }),
  "a part of the content": (word) =>
    completion({ content: [{ type: word, [word]: word, text: "x" }, { type: "thinking", thinking: word }] }, "stop"),
  "the id of a call": (word) =>
    completion({ tool_calls: [{ id: word, function: { name: "now", arguments: "{}" } }] }, "tool_calls"),
  "arguments of a call": (word) =>
    completion({ tool_calls: [{ id: "a", function: { name: "now", arguments: word } }] }, "tool_calls"),
  "an event of a stream": (word) => events(`event: ${word}\n${Server.chunk({ content: "x" }, word)}`, Server.done),
  "an error event": (word) => events(`event: error\ndata: ${JSON.stringify({ type: word, code: word })}\n\n`),
  "the finish reason of a stream": (word) => events(Server.chunk({ content: "x" }, word)),
  "the id of a call in a stream": (word) =>
    events(
      Server.chunk({ tool_calls: [{ id: word, index: 0, function: { name: "now", arguments: "{" } }] }),
      Server.chunk({ tool_calls: [{ id: word, index: 0, function: { arguments: "}" } }] }, "tool_calls")
    )
}

describe("a name that objects inherit is like any unknown word", () => {
  for (const [place, reply] of Object.entries(places)) {
    it.effect(`as ${place}`, () =>
      Effect.gen(function*() {
        const expected = yield* outcome(reply(unheardOf), unheardOf)
        for (const name of someNames) assert.strictEqual(yield* outcome(reply(name), name), expected, name)
      }), 30_000)
  }

  it.effect("as a tool's name, for an agent that does not have it", () =>
    Effect.gen(function*() {
      for (const name of names) {
        let requests = 0
        const server = Layer.succeed(
          HttpClient.HttpClient,
          HttpClient.make((request) =>
            Effect.sync(() => {
              const reply = ++requests === 1
                ? completion({ tool_calls: [{ id: "a", function: { name, arguments: "{}" } }] }, "tool_calls")
                : completion({ content: "sorry" }, "stop")
              return HttpClientResponse.fromWeb(request, new Response(reply.body))
            })
          )
        )
        const answer = yield* Agent.make("agent", {}).run("Hi").pipe(
          Effect.provide(
            OpenAiCompatible.layer({ baseUrl: "http://host/v1", model: "m" }).pipe(Layer.provide([server, ids]))
          )
        )
        assert.strictEqual(answer, "sorry", name)
        assert.strictEqual(requests, 2)
      }
    }))

  it("an inherited name is no preset", () => {
    for (const name of names) {
      const exit = Effect.runSyncExit(
        OpenAiCompatible.make({ preset: name as "openai", model: "m" }).pipe(Effect.provide(client({ body: "" })))
      )
      assert.strictEqual(Exit.isFailure(exit) && Exit.findErrorOption(exit)._tag, "Some", name)
    }
  })
})

const numbers = [
  "0",
  "-0",
  "-1",
  "0.5",
  "1e400",
  "-1e400",
  "1e21",
  "9007199254740993",
  "9".repeat(306),
  `0.${"9".repeat(306)}`,
  "253402300800"
]

describe("a number of a server is finite, or is not there", () => {
  const numeric: Record<string, (number: string) => Reply> = {
    "the code and the status of an error": (n) => ({
      status: 400,
      body: `{"error":{"code":${n},"status":${n},"status_code":${n},"param":${n}}}`
    }),
    "the code of an error in a good answer": (n) => ({ body: `{"error":{"code":${n}}}` }),
    "the usage, the time and the index of an answer": (n) => ({
      body: `{"id":${n},"created":${n},"usage":{"prompt_tokens":${n},"completion_tokens":${n},` +
        `"prompt_tokens_details":{"cached_tokens":${n}},"completion_tokens_details":{"reasoning_tokens":${n}}},` +
        `"choices":[{"index":${n},"message":{"content":"x","tool_calls":[{"index":${n},"id":${n},` +
        `"function":{"name":"now","arguments":${n}}}]},"finish_reason":"stop"}]}`
    }),
    "the index of a call in a stream": (n) =>
      events(
        `data: {"created":${n},"choices":[{"index":0,"delta":{"tool_calls":[{"index":${n},"id":${n},` +
          `"function":{"name":"now","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":${n}}}\n\n`
      )
  }
  for (const [place, reply] of Object.entries(numeric)) {
    it.effect(`as ${place}`, () =>
      Effect.gen(function*() {
        for (const number of numbers) {
          // JSON has no infinite numbers: one that came through would be printed as `null`.
          yield* outcome(reply(number), number)
        }
      }))
  }

  it.effect("as a wait", () =>
    Effect.gen(function*() {
      for (const number of [...numbers, "Fri, 31 Dec 9999 23:59:59 GMT", "Infinity", "NaN"]) {
        for (const header of ["retry-after", "retry-after-ms"]) {
          const headers = { [header]: number }
          const asked = TransportRetry.retryAfter(Headers.fromInput(headers), 0)
          if (asked !== undefined) {
            const millis = Duration.toMillis(asked)
            assert.isTrue(
              Number.isSafeInteger(millis) && millis >= 0 && millis <= 31_536_000_000,
              `${number}: ${millis}`
            )
          }
          for (const status of [429, 503]) {
            const failed = yield* Effect.flip(
              generate().pipe(
                Effect.asVoid,
                Effect.provide(layer({ ...error({}, status), headers }))
              )
            )
            assert.strictEqual(failed._tag, "AiError")
            assert.deepStrictEqual((failed as AiError.AiError).retryAfter, asked)
          }
        }
      }
    }))
})

describe("an answer of any shape", () => {
  const values = ["null", "true", "7", "\"x\"", "[]", "{}", "[[]]", "[null]", "[{}]", "{\"__proto__\":{\"error\":{}}}"]
  it.effect("is an answer or a typed failure", () =>
    Effect.gen(function*() {
      for (const value of values) {
        for (const key of ["choices", "error", "usage", "id", "created", "citations", "search_results"]) {
          yield* outcome({ body: `{"${key}":${value}}` }, "\u0000")
          yield* outcome({ body: `{"choices":[{"message":{"content":"x"}}],"${key}":${value}}` }, "\u0000")
        }
        for (const key of ["content", "tool_calls", "function_call", "annotations", "refusal", "reasoning"]) {
          yield* outcome({ body: `{"choices":[{"message":{"${key}":${value}}}]}` }, "\u0000")
          yield* outcome(events(`data: {"choices":[{"delta":{"${key}":${value}}}]}\n\n`, Server.done), "\u0000")
        }
        yield* outcome({ body: value }, "\u0000")
        yield* outcome(events(`data: ${value}\n\n`), "\u0000")
        yield* outcome({ status: 400, body: value }, "\u0000")
      }
    }))
})
