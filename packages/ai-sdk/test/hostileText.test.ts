/** Servers' text stays text: no name in it is looked up on a prototype, and no number is more than a number. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Duration, Effect, Exit, Stream } from "effect"
import { AiError, LanguageModel, type Response as AiResponse } from "effect/ai"
import { inheritedNames as names } from "../../../test/support/inheritedNames.ts"
import { v4 } from "./support/models.ts"
import { type Provider, providers } from "./support/wires.ts"

const unheardOf = "unheard_of"

const seed = Number(process.env["RECOURSE_SEED"] ?? 1)

/** A quarter of the names, another one in each place; the seed chooses which. The names of most mistakes are in each. */
const namesFor = (place: number): ReadonlyArray<string> =>
  names.filter((name, index) => name === "__proto__" || name === "constructor" || index % 4 === (seed + place) % 4)

interface Reply {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body: string
}

const layerOf = (provider: Provider, reply: Reply) =>
  AiSdk.layer(
    provider.model("http://host", async () =>
      new Response(reply.body, {
        status: reply.status,
        headers: { "content-type": "application/json", ...reply.headers }
      }))
  )

const print = (value: unknown, word: string) =>
  JSON.stringify(
    value,
    (key, value: unknown) =>
      ["http", "cause", "codes", "param"].includes(key) ? undefined : value === word ? "WORD" : value
  )

/** Outcome of an answer, with the tested word removed. A defect fails the test. */
const outcome = (provider: Provider, reply: Reply, word: string) =>
  Effect.gen(function*() {
    const parts: Array<AiResponse.AnyPart> = []
    const whole = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
      Effect.map((response) => response.content),
      Effect.exit
    )
    const streamed = yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
      Stream.runForEach((part) => Effect.sync(() => parts.push(part))),
      Effect.exit
    )
    for (const exit of [whole, streamed] as ReadonlyArray<Exit.Exit<unknown, AiError.AiError>>) {
      if (Exit.isSuccess(exit)) continue
      const error = Exit.findErrorOption(exit)
      assert.isTrue(error._tag === "Some" && AiError.isAiError(error.value), `${word}: ${String(exit)}`)
    }
    return print({
      whole: Exit.isSuccess(whole) ? whole.value : Exit.findErrorOption(whole),
      streamed: Exit.isSuccess(streamed) ? parts : Exit.findErrorOption(streamed)
    }, word)
  }).pipe(Effect.provide(layerOf(provider, reply)))

describe.each(providers)("$name: a name that objects inherit is like any unknown word", (provider) => {
  const places: Record<string, (word: string) => Reply> = {
    "the code of an error 400": (word) => ({ status: 400, body: JSON.stringify(provider.wire.error(word)) }),
    "the code of an error 404": (word) => ({ status: 404, body: JSON.stringify(provider.wire.error(word)) }),
    "the code of a good answer": (word) => ({ status: 200, body: JSON.stringify(provider.wire.error(word)) }),
    "every field of an error": (word) => ({
      status: 418,
      body: JSON.stringify({
        error: {
          code: word,
          type: word,
          status: word,
          param: word,
          innererror: { code: word },
          details: [{ reason: word }]
        }
      })
    }),
    "an error of other shapes": (word) => ({ status: 418, body: JSON.stringify({ error: word, response: word }) }),
    "an event of a stream": (word) => ({
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: [
        ...provider.wire.begin,
        `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: word, code: word, message: "x" } })}\n\n`
      ].join("")
    })
  }
  for (const [nth, [place, reply]] of Object.entries(places).entries()) {
    it.effect(`as ${place}`, () =>
      Effect.gen(function*() {
        const expected = yield* outcome(provider, reply(unheardOf), unheardOf)
        for (const name of namesFor(nth + providers.indexOf(provider))) {
          assert.strictEqual(yield* outcome(provider, reply(name), name), expected, name)
        }
      }), 30_000)
  }
})

describe("exceptions of a provider package", () => {
  const circle: Record<string, unknown> = { statusCode: 400 }
  circle["data"] = { error: { code: "x", param: circle } }
  const thrown: Record<string, unknown> = {
    "a circle": circle,
    "a number that JSON does not know": { statusCode: 400, data: { error: { code: "x", param: 1n } } },
    "a status that is none": { statusCode: Number.POSITIVE_INFINITY, code: "x" },
    "a field that throws": Object.defineProperty({}, "statusCode", {
      get: () => {
        throw new Error("no")
      }
    }),
    "a proxy": new Proxy({}, {
      get: () => {
        throw new Error("no")
      },
      getPrototypeOf: () => null
    }),
    "a symbol": Symbol("x"),
    "a function": () => {},
    "nothing": undefined,
    "null": null,
    ...Object.fromEntries(names.map((name) => [`the text ${name}`, name])),
    ...Object.fromEntries(names.map((name) => [`the code ${name}`, { code: name, statusCode: 400 }]))
  }
  it.effect("is a typed failure, whatever it is", () =>
    Effect.gen(function*() {
      const whole = Effect.asVoid(LanguageModel.generateText({ prompt: "Hi" }))
      const streamed = Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" }))
      for (const [what, fail] of Object.entries(thrown)) {
        const calls = [
          Effect.provide(whole, AiSdk.layer(v4({ fail }).model)),
          Effect.provide(streamed, AiSdk.layer(v4({ fail }).model)),
          Effect.provide(streamed, AiSdk.layer(v4({ stream: [{ type: "error", error: fail }] }).model))
        ]
        for (const call of calls) {
          const exit = yield* Effect.exit(call)
          assert.isTrue(Exit.isFailure(exit) && Exit.findErrorOption(exit)._tag === "Some", `${what}: ${String(exit)}`)
        }
      }
    }))
})

describe("a wait that a server asks for", () => {
  it.effect("is finite, however many digits it has", () =>
    Effect.gen(function*() {
      const digits = "9".repeat(306)
      const replies: ReadonlyArray<Reply> = [
        { status: 429, headers: { "retry-after": digits }, body: "{}" },
        { status: 503, headers: { "retry-after-ms": digits }, body: "{}" },
        { status: 429, body: JSON.stringify({ error: { code: 429, details: [{ retryDelay: `${digits}s` }] } }) }
      ]
      for (const reply of replies) {
        for (const provider of providers) {
          const error = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
            Effect.flip,
            Effect.provide(layerOf(provider, reply))
          )
          assert.strictEqual(error.retryAfter && Duration.toMillis(error.retryAfter), 31_536_000_000)
        }
      }
    }))
})
