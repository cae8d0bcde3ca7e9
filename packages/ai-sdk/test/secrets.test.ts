/** For any echo of a server, no printed error shows the key or the body. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { ProviderResponse } from "@recourse/core"
import { Effect, Redacted, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { printsOf } from "../../../test/support/prints.ts"
import { v4 } from "./support/models.ts"
import { providers } from "./support/wires.ts"

const key = "sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7"
const prose = `PROSE with ${key}`

const error = {
  message: prose,
  code: key,
  type: key,
  param: key,
  status: key,
  innererror: { code: key },
  details: [{ reason: key, "@type": key }]
}

const seed = Number(process.env["RECOURSE_SEED"] ?? 1)

const headers = { "x-request-id": key, "x-ratelimit-remaining": key, server: key, "set-cookie": key, "x-echo": prose }

const whole = Effect.asVoid(LanguageModel.generateText({ prompt: "Hi" }))
const streamed = Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" }))

describe.each(providers)("$name: an error of a server that echoes everything", (provider) => {
  it.effect("is printed without the key and without the body", () =>
    Effect.gen(function*() {
      for (const [row, status] of [200, 400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 503].entries()) {
        for (
          const [column, [type, body]] of ([
            ["application/json", JSON.stringify({ error, type: "error" })],
            ["application/json", JSON.stringify({ [key]: prose })],
            ["text/html", `<h1>${prose}</h1>`],
            ["text/event-stream", `data: ${prose}\n\n`],
            ["text/event-stream", `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`]
          ] as const).entries()
        ) {
          // Each second pair of a status and a body: the seed chooses which of the halves.
          if ((row + column + seed) % 2 === 0) continue
          const layer = AiSdk.layer(
            provider.model(
              "http://host",
              async () => new Response(body, { status, headers: { ...headers, "content-type": type } })
            )
          )
          for (const call of [whole, streamed]) {
            const failure = yield* Effect.flip(Effect.provide(call, layer))
            for (const print of yield* printsOf(failure)) {
              assert.notInclude(print, key, `${status} ${body}`)
              assert.notInclude(print, "PROSE", `${status} ${body}`)
            }
          }
        }
      }
    }), 30_000)
})

describe("whatever a provider package throws", () => {
  it.effect("is printed without its message", () =>
    Effect.gen(function*() {
      const thrown: ReadonlyArray<unknown> = [
        new Error(prose),
        Object.assign(new Error(prose, { cause: new Error(prose) }), {
          name: "OddError",
          statusCode: 400,
          data: { error }
        }),
        { statusCode: 400, message: prose, name: key, data: { error } },
        { code: key, message: prose, type: prose },
        prose
      ]
      for (const fail of thrown) {
        for (
          const call of [
            Effect.provide(whole, AiSdk.layer(v4({ fail }).model)),
            Effect.provide(streamed, AiSdk.layer(v4({ stream: [{ type: "error", error: fail }] }).model))
          ]
        ) {
          const failure = yield* Effect.flip(call)
          for (const print of yield* printsOf(failure)) {
            assert.notInclude(print, key)
            assert.notInclude(print, "PROSE")
          }
          const body = ProviderResponse.bodyOf(failure)
          if (body !== undefined) assert.notInclude(Redacted.value(body), key)
        }
      }
    }))
})
