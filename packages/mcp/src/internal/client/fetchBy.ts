/** `fetch` by an `HttpClient`, so that its proxies and certificates hold for libraries that take a `fetch`. */
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpMethod } from "effect/http/HttpMethod"

/** Statuses of responses without a body. */
const bodiless = new Set([101, 103, 204, 205, 304])

const textOf = (body: BodyInit | null | undefined): string =>
  typeof body === "string" || body instanceof URLSearchParams ? String(body) : ""

/** Returns a `fetch` for requests whose bodies are text or forms. */
export const fetchBy =
  (client: HttpClient.HttpClient) => (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = Object.fromEntries(new Headers(init.headers))
    const form = init.body instanceof URLSearchParams ? "application/x-www-form-urlencoded" : "text/plain"
    const request = HttpClientRequest.make((init.method ?? "GET") as HttpMethod)(input).pipe(
      init.body === undefined || init.body === null
        ? (request) => request
        : HttpClientRequest.bodyText(textOf(init.body), headers["content-type"] ?? form),
      HttpClientRequest.setHeaders(headers)
    )
    return Effect.runPromise(
      Effect.flatMap(
        client.execute(request),
        ({ headers, status, text }) =>
          Effect.map(
            text,
            (body) => new Response(bodiless.has(status) ? null : body, { status, headers: { ...headers } })
          )
      ).pipe(
        Effect.scoped
      ),
      init.signal ? { signal: init.signal } : undefined
    )
  }
