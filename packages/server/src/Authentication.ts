/**
 * Authentication of requests: who sends them, and what they may do.
 *
 * Every route but health checks asks for a principal. Threads, runs and approvals belong to its `id`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { bearerToken, cookie } from "./internal/http/credentials.ts"
import { sha256 } from "./internal/sha256.ts"

/**
 * What a principal may do. `"chat"`: begin and follow runs of its own. `"decide"`: decide about calls that wait in them. `"operate"`:
 * see the runs of everybody with all that is known of them, and stop them; with `"decide"`, decide about their calls.
 */
export type Right = "chat" | "decide" | "operate"

/** Who sends a request. */
export interface Principal {
  /** Owner of the threads and runs. Never an empty text. */
  readonly id: string
  /** Default: `"chat"` and `"decide"`. */
  readonly rights?: ReadonlyArray<Right> | undefined
  /** The agents that may be run, by name. Default: all. */
  readonly agents?: ReadonlyArray<string> | undefined
}

/** The request names nobody, or nobody known: 401. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message(): string {
    return "Sign in first"
  }
}

/** The principal may not do this: 403. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { right: Schema.String }) {
  override get message(): string {
    return `This needs the right "${this.right}"`
  }
}

/** Tells who sends a request. */
export class Authentication extends Context.Service<Authentication, {
  readonly authenticate: (request: HttpServerRequest) => Effect.Effect<Principal, Unauthorized>
}>()("@recourse/server/Authentication") {}

/** Authentication by a function of your own. */
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
            principal === undefined || principal.id === ""
              ? Effect.fail(new Unauthorized())
              : Effect.succeed(principal)
          )
        )
    }))
  )

/** Everybody is one principal: for development on one's own machine, and behind a proxy that authenticates. */
export const layerAnonymous = (principal: Principal = { id: "anonymous" }): Layer.Layer<Authentication> =>
  layer(() => Effect.succeed(principal))

/**
 * Authentication by bearer tokens that the program knows. Tokens are compared by their digests, so that the time of an answer
 * tells nothing of them.
 */
export const layerBearer = (
  tokens: ReadonlyArray<{ readonly token: Redacted.Redacted<string>; readonly principal: Principal }>
): Layer.Layer<Authentication> =>
  Layer.effect(
    Authentication,
    Effect.gen(function*() {
      const known = new Map<string, Principal>()
      for (const { principal, token } of tokens) known.set(yield* sha256(Redacted.value(token)), principal)
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
