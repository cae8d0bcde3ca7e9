/** Pages of other origins: those that may read the server's answers. Browsers ask first, by `OPTIONS`. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Response from "effect/http/HttpServerResponse"

/** Readable headers of a page besides the body. */
const exposed = "location, retry-after, x-should-retry, x-trace-id, x-vercel-ai-ui-message-stream"

/** Time for which a browser need not ask again, in seconds. */
const maxAge = "600"

type Respond<R> = Effect.Effect<Response.HttpServerResponse, never, R>

const request = HttpServerRequest.HttpServerRequest

/** Headers of an answer to a page of an origin: it may read none if the origin is not listed. */
const about = (origins: ReadonlySet<string>, origin: string | undefined): Readonly<Record<string, string>> =>
  origin === undefined || !origins.has(origin) ? { vary: "origin" } : {
    vary: "origin",
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true"
  }

/** An answer with the headers by which pages of the origins may read it. */
const withHeaders = (origins: ReadonlySet<string>, origin: string | undefined) =>
  Response.setHeaders({ ...about(origins, origin), "access-control-expose-headers": exposed })

/** An answer that pages of the origins may read. */
export const readable =
  (origins: ReadonlySet<string>) => <R>(respond: Respond<R>): Respond<R | HttpServerRequest.HttpServerRequest> =>
    origins.size === 0 ?
      respond :
      Effect.flatMap(request, ({ headers: { origin } }) => Effect.map(respond, withHeaders(origins, origin)))

/** The answer to a browser that asks whether a page may send a request. */
export const preflight = (
  origins: ReadonlySet<string>,
  methods: ReadonlyArray<string>
): Respond<HttpServerRequest.HttpServerRequest> =>
  Effect.map(request, ({ headers }) =>
    Response.empty({
      status: 204,
      headers: {
        ...about(origins, headers["origin"]),
        "access-control-allow-methods": methods.join(", "),
        "access-control-allow-headers": headers["access-control-request-headers"] ?? "content-type",
        "access-control-max-age": maxAge
      }
    }))
