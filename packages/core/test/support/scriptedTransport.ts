/** A transport with scripted replies. */

import type { Duration } from "effect"
import { Clock, Effect, Fiber, Schedule } from "effect"
import type { HttpClientRequest } from "effect/http"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"

export type Reply =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: BodyInit }
  | "refused"
  | "timeout"

export const connectionError = (request: HttpClientRequest.HttpClientRequest, cause: unknown) =>
  new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })

/** A client that plays the replies (the last one again and again) and notes the virtual time of each request. */
export const scripted = (...replies: ReadonlyArray<Reply>) => {
  const at: Array<number> = []
  const client = HttpClient.make((request) =>
    Effect.gen(function*() {
      at.push(yield* Clock.currentTimeMillis)
      const reply = replies[Math.min(at.length, replies.length) - 1]!
      if (reply === "refused") {
        return yield* connectionError(request, Object.assign(new Error("x"), { code: "ECONNREFUSED" }))
      }
      if (reply === "timeout") {
        return yield* connectionError(request, new DOMException("x", "TimeoutError"))
      }
      return HttpClientResponse.fromWeb(
        request,
        new Response(reply.body ?? null, { status: reply.status, headers: reply.headers ?? {} })
      )
    })
  )
  return { client, at }
}

export const drive = <A, E, R>(effect: Effect.Effect<A, E, R>, step: Duration.Input = "1 millis", max = 5_000) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    for (let i = 0; i < max && fiber.pollUnsafe() === undefined; i++) yield* TestClock.adjust(step)
    return yield* Fiber.join(fiber)
  })

export const exact = Schedule.exponential("250 millis")

export const url = "http://user:pass@models.test:8080/v1/chat?key=secret"
