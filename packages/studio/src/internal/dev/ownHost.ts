/**
 * Own host: the names by which the command is reached. Whoever reaches it may do everything, and a page of another site can make its own
 * name lead to this machine (DNS rebinding): to the browser, that page and the command are of one origin. An address cannot be
 * made to lead elsewhere.
 */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Response from "effect/http/HttpServerResponse"

const isAddress = (name: string): boolean => name.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(name)

const nameOf = (host: string): string | undefined =>
  URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined

/** Whether a request's `Host` is an address, this machine's own name, or the name that the command was given. */
export const isOwnHost = (host: string | undefined, given: string): boolean => {
  const name = host === undefined ? undefined : nameOf(host)
  return name !== undefined &&
    (isAddress(name) || name === "localhost" || name.endsWith(".localhost") || name === nameOf(given))
}

/** Answers requests under names that the command knows. */
export const ownHost = (given: string) =>
<E, R>(
  app: Effect.Effect<Response.HttpServerResponse, E, R>
): Effect.Effect<Response.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers: { host } }) =>
    isOwnHost(host, given)
      ? app
      : Effect.succeed(
        Response.text("This name is not the command's. Open it by its address, or start it with --host and the name", {
          status: 403
        })
      ))
