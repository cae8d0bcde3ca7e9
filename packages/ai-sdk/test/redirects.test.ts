import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { createServer, type RequestListener } from "node:http"
import { providers } from "./support/wires.ts"

/** A server on loopback; answers its address. */
const serve = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer(listener).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  ).pipe(Effect.map((server) => {
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  }))

/** Two origins: the first sends everything on to the second, which hears of it. */
const redirected = (status: number) =>
  Effect.gen(function*() {
    const heard: Array<string> = []
    const there = yield* serve((request, response) => {
      let body = ""
      request.on("data", (chunk: unknown) => body += String(chunk))
      request.on("end", () => {
        heard.push(`${JSON.stringify(request.headers)} ${body}`)
        response.writeHead(500).end()
      })
    })
    const here = yield* serve((request, response) => {
      request.resume()
      response.writeHead(status, { location: `${there}${request.url}` }).end()
    })
    return { heard, here }
  })

const secret = "the conversation"

describe("a redirect", () => {
  for (const provider of providers) {
    for (const status of [301, 302, 303, 307, 308]) {
      it.live(`${provider.name}: ${status} is final with AiSdk.fetch, and leaks nothing elsewhere`, () =>
        Effect.gen(function*() {
          const { heard, here } = yield* redirected(status)
          const layer = AiSdk.layer(provider.model(here, AiSdk.fetch))
          const whole = LanguageModel.generateText({ prompt: secret })
          const streamed = Stream.runDrain(LanguageModel.streamText({ prompt: secret }))
          for (const request of [whole, streamed]) {
            const { reason } = yield* Effect.flip(Effect.provide(Effect.asVoid(request), layer))
            assert.strictEqual(reason._tag, "InvalidRequestError")
            assert.isFalse(reason.isRetryable)
            assert.include(reason.message, String(status))
            assert.include(reason.message, "redirect")
          }
          assert.deepStrictEqual(heard, [])
        }).pipe(Effect.scoped))
    }
  }

  it.live("is followed by a provider package without AiSdk.fetch", () =>
    Effect.gen(function*() {
      const { heard, here } = yield* redirected(307)
      const layer = AiSdk.layer(providers[0]!.model(here, fetch))
      yield* Effect.flip(Effect.provide(LanguageModel.generateText({ prompt: secret }), layer))
      assert.isTrue(heard.some((request) => request.includes(secret)))
    }).pipe(Effect.scoped))
})
