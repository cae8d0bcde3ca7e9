/**
 * Authentication of requests: their senders, and the senders' rights.
 *
 * Every route but health checks asks for a principal. Threads, runs and approvals belong to its `id`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as OptionCheck from "@recourse/core/OptionCheck"
import { bearerToken, cookie } from "./internal/http/credentials.ts"
import { hostName, hostOf, isOwnHost } from "./internal/http/ownHost.ts"
import { secretOf } from "./internal/secretOf.ts"
import { sha256 } from "./internal/sha256.ts"
export { isOwnHost } from "./internal/http/ownHost.ts"

/**
 * A right of a principal. `"chat"`: start and follow runs of its own. `"decide"`: decide about pending calls in them.
 * `"operate"`: see the runs of everyone with all details, and stop them; with `"decide"`, decide about their calls.
 *
 * @category models
 * @since 0.2.0
 */
export type Right = "chat" | "decide" | "operate"

/**
 * Sender of a request.
 *
 * @category models
 * @since 0.2.0
 */
export interface Principal {
  /** Owner of the threads and runs. A request whose principal has an empty id, or none, is refused with 401. */
  readonly id: string
  /** Default: `"chat"` and `"decide"`. */
  readonly rights?: ReadonlyArray<Right> | undefined
  /** The agents that may be run, by name. Default: all. */
  readonly agents?: ReadonlyArray<string> | undefined
}

/**
 * The request has no known principal: 401.
 *
 * @category errors
 * @since 0.2.0
 */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message(): string {
    return "Sign in first"
  }
}

/**
 * The principal may not do this: 403.
 *
 * @category errors
 * @since 0.2.0
 */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { right: Schema.String }) {
  override get message(): string {
    return `This needs the right "${this.right}"`
  }
}

/**
 * The request names a host that is not this server's: 403.
 *
 * @category errors
 * @since 0.2.0
 */
export class WrongHost extends Schema.TaggedError<WrongHost>()("WrongHost", {}) {
  override get message(): string {
    return "The server is not reached by this name: use its address, or list the name in `hosts` of `Authentication.layerAnonymous`"
  }
}

/** True if a principal has an id. */
const hasId = ({ id }: Principal): boolean => typeof id === "string" && id.trim() !== ""

/** @internal Refuses a principal without an id, such as one of a missing claim: an owner that is undefined sees the runs of everyone. */
export const identified = (principal: Principal): Effect.Effect<Principal, Unauthorized> =>
  hasId(principal)
    ? Effect.succeed(principal)
    : Effect.andThen(
      Effect.logWarning("A request was refused: the id of its principal is empty, or no text"),
      Effect.fail(new Unauthorized())
    )

/**
 * Identifies the sender of a request.
 *
 * @category services
 * @since 0.2.0
 */
export class Authentication extends Context.Service<Authentication, {
  readonly authenticate: (request: HttpServerRequest) => Effect.Effect<Principal, Unauthorized | WrongHost>
}>()("@recourse/server/Authentication") {}

/**
 * Authentication by a function of your own.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = <E, R>(
  authenticate: (request: HttpServerRequest) => Effect.Effect<Principal | undefined, E, R>
): Layer.Layer<Authentication, never, R> =>
  Layer.effect(
    Authentication,
    Effect.map(Effect.context<R>(), (context) => ({
      authenticate: (request) =>
        authenticate(request).pipe(
          Effect.provideContext(context),
          Effect.catchCause((cause) =>
            Effect.as(Effect.logWarning("A request could not be authenticated", cause), undefined)
          ),
          Effect.flatMap((principal) =>
            principal === undefined ? Effect.fail(new Unauthorized()) : identified(principal)
          )
        )
    }))
  )

/**
 * Options of a server without authentication.
 *
 * @category options
 * @since 0.2.0
 */
export interface AnonymousOptions {
  /** Names of the server, such as `agents.internal`, besides addresses and `localhost`. Ports are not compared. Default: none. */
  readonly hosts?: ReadonlyArray<string> | undefined
}

/**
 * Everybody is one principal: for development on one's own machine, and behind a proxy that authenticates.
 *
 * A request under another name than an address, `localhost` or one of `hosts` is refused with 403 (`WrongHost`): a page of another site can
 * let its name lead to this server. Throws `ConfigurationError` for a principal without an id, and for an entry of `hosts` that is no name.
 *
 * **Example** (Behind a proxy that authenticates)
 *
 * ```ts
 * import { Authentication } from "@recourse/server"
 *
 * const layer = Authentication.layerAnonymous({ id: "staff" }, { hosts: ["agents.internal"] })
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerAnonymous = (
  principal: Principal = { id: "anonymous" },
  { hosts = [] }: AnonymousOptions = {}
): Layer.Layer<Authentication> => {
  OptionCheck.checkArgument("Authentication.layerAnonymous", "its principal", principal, {
    is: isPrincipal,
    called: "{ id: \"staff\" }"
  })
  const unfit = hosts.find((host) => hostName(host) === undefined)
  if (unfit !== undefined) {
    const problem = `"${unfit}" in hosts is no name of a host: write it as agents.example.com`
    throw new ConfigurationError({ subject: "Authentication.layerAnonymous", problem })
  }
  return Layer.succeed(Authentication, {
    authenticate: (request) => {
      const host = hostOf(request)
      // Every browser sends one. A handler that is called in its own process has none.
      return host === undefined || isOwnHost(host, hosts) ? Effect.succeed(principal) : Effect.fail(new WrongHost())
    }
  })
}

const isPrincipal = (value: unknown): boolean => OptionCheck.anObject.is(value) && hasId(value as Principal)

const someTokens = OptionCheck.listOf({
  is: (value) => OptionCheck.anObject.is(value) && isPrincipal((value as { readonly principal?: unknown }).principal),
  called: "{ token: Redacted.make(\"...\"), principal: { id: \"ada\" } }"
})

/**
 * Authentication by bearer tokens that the program knows. Tokens are compared by their digests, so that the time of an
 * answer does not leak them. The server does not start with a token that is unset or empty: it dies with
 * `ConfigurationError`.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerBearer = (
  tokens: ReadonlyArray<{ readonly token: Redacted.Redacted<string>; readonly principal: Principal }>
): Layer.Layer<Authentication> =>
  Layer.effect(
    Authentication,
    Effect.gen(function*() {
      OptionCheck.checkArgument("Authentication.layerBearer", "its argument", tokens, someTokens)
      const known = new Map<string, Principal>()
      for (const { principal, token } of tokens) {
        known.set(
          yield* sha256(yield* secretOf("Authentication.layerBearer", `the token of "${principal.id}"`, token)),
          principal
        )
      }
      return {
        authenticate: (request) => {
          const token = bearerToken(request)
          if (token === undefined) return Effect.fail(new Unauthorized())
          return Effect.flatMap(sha256(token), (digested) => {
            const principal = known.get(digested)
            return principal === undefined ? Effect.fail(new Unauthorized()) : Effect.succeed(principal)
          })
        }
      }
    })
  )

/**
 * Authentication by a session in a cookie: `lookup` finds who the session's id is of. Set the cookie `HttpOnly`, `Secure` and
 * `SameSite=Lax`.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerSession = <E, R>(
  options: {
    readonly cookie: string
    readonly lookup: (sessionId: string) => Effect.Effect<Principal | undefined, E, R>
  }
): Layer.Layer<Authentication, never, R> =>
  layer((request) => {
    const id = cookie(request, options.cookie)
    return id === undefined ? Effect.succeed(undefined) : options.lookup(id)
  })
