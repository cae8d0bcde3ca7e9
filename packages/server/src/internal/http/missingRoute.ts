/** Answers to requests that no route takes: problems like those of the routes, which pages of listed origins may read. */
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServerError from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Response from "effect/http/HttpServerResponse"
import { readable } from "./cors.ts"
import { RouteNotFound } from "./errors.ts"
import { answered } from "./problem.ts"
import { securityHeaders } from "./securityHeaders.ts"

const hasNoRoute = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** True for the answer of effect's router. Another middleware may answer a request without a route. */
const isBare = ({ body, status }: Response.HttpServerResponse): boolean => status === 404 && body._tag === "Empty"

const problemOf = ({ method, url }: HttpServerRequest) => {
  const path = url.split("?", 1)[0]!
  return answered(Effect.fail(new RouteNotFound({ method, path })), path.startsWith("/v1/") ? "openai" : "problem")
}

/** Middleware of a router. The error stays: only the body of its response is replaced. */
export const explainMissingRoutes = (origins: ReadonlySet<string>) =>
<E, R>(
  respond: Effect.Effect<Response.HttpServerResponse, E, R>
): Effect.Effect<Response.HttpServerResponse, E, R | HttpServerRequest> =>
  Effect.tapError(respond, (error) =>
    hasNoRoute(error)
      ? HttpEffect.appendPreResponseHandler((request, response) =>
        isBare(response)
          ? readable(origins)(Effect.map(problemOf(request), Response.setHeaders(securityHeaders))).pipe(
            Effect.provideService(HttpServerRequest, request)
          )
          : Effect.succeed(response)
      )
      : Effect.void)
