/** Own host: the command answers only under names that it knows. Whoever reaches it may do everything. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Response from "effect/http/HttpServerResponse"
import { isOwnHost } from "@recourse/server/Authentication"

/** Answers requests under names that the command knows. */
export const ownHost = (given: string) =>
<E, R>(
  app: Effect.Effect<Response.HttpServerResponse, E, R>
): Effect.Effect<Response.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    ({ headers: { host } }) =>
      host !== undefined && isOwnHost(host, [given])
        ? app
        : Effect.succeed(
          Response.text(
            "This name is not the command's. Open it by its address, or start it with --host and the name",
            {
              status: 403
            }
          )
        )
  )
