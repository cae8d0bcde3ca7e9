/**
 * OAuth 2.1 for MCP servers over HTTP: tokens are sent with each request, and refreshed once for all requests that met an expired one. Those requests share the page for a person, too.
 * The flow itself is that of `@modelcontextprotocol/client`, an optional peer, which is loaded when a layer of this module is built.
 */
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import { fetchBy } from "./internal/client/fetchBy.ts"

/**
 * Tokens as a provider keeps them.
 *
 * @category models
 * @since 0.2.0
 */
export interface Tokens {
  readonly access_token: string
  readonly scope?: string | undefined
}

/**
 * Provider that stores tokens and sends a person to the authorization server: an `OAuthClientProvider` of
 * `@modelcontextprotocol/client`, whose documentation describes each member.
 *
 * @category models
 * @since 0.2.0
 */
export interface Provider {
  readonly redirectUrl: string | URL | undefined
  readonly clientMetadata: object
  tokens(): Tokens | undefined | Promise<Tokens | undefined>
  saveTokens(tokens: any): void | Promise<void>
  clientInformation(): object | undefined | Promise<object | undefined>
  redirectToAuthorization(url: URL): void | Promise<void>
  saveCodeVerifier(verifier: string): void | Promise<void>
  codeVerifier(): string | Promise<string>
}

/**
 * A server and the provider of its tokens.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The address of the MCP server. Tokens are sent to its origin only. */
  readonly url: string | URL
  /** Stores the tokens, and leads the person to the page of the authorization. */
  readonly provider: Provider
  /** The requested scope. Default: the one that the server names. */
  readonly scope?: string | undefined
  /**
   * Time after which a person is sent to the page again, if they have not authorized. Until then calls without authorization fail and leave
   * the open page valid. Default: 10 minutes.
   */
  readonly reopenAfter?: Duration.Input | undefined
}

/**
 * The authorization failed: `description` says how. A person has to authorize again.
 *
 * @category errors
 * @since 0.2.0
 */
export class OAuthFailed extends Schema.TaggedError<OAuthFailed>()("OAuthFailed", {
  url: Schema.String,
  description: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** The parts of `@modelcontextprotocol/client` that are used. */
interface Sdk {
  readonly auth: (provider: never, options: object) => Promise<"AUTHORIZED" | "REDIRECT">
  readonly extractWWWAuthenticateParams: (response: Response) => {
    readonly resourceMetadataUrl?: URL
    readonly scope?: string
    readonly error?: string
  }
  readonly computeScopeUnion: (...scopes: ReadonlyArray<string | undefined>) => string | undefined
  readonly isStrictScopeSuperset: (union: string | undefined, current: string | undefined) => boolean
}

const sdk: Effect.Effect<Sdk, ConfigurationError> = Effect.tryPromise({
  try: () =>
    // A bundler accepts a missing package if the import handles that.
    import("@modelcontextprotocol/client").then(
      (sdk: unknown) => sdk as Sdk,
      (cause: unknown) => {
        throw cause
      }
    ),
  catch: () =>
    new ConfigurationError({
      subject: "@recourse/mcp/OAuth",
      problem:
        "it needs the package @modelcontextprotocol/client, which cannot be loaded. Install it: npm install @modelcontextprotocol/client@2"
    })
})

const failed = ({ url }: Options) => (cause: unknown) =>
  new OAuthFailed({
    url: String(url),
    description: cause instanceof Error ? cause.message : "The authorization failed",
    cause
  })

/** Runs the flow: refreshes the tokens, or sends a person to the authorization server. */
const authorize = (
  { auth }: Sdk,
  options: Options,
  base: HttpClient.HttpClient,
  more: object
): Effect.Effect<"AUTHORIZED" | "REDIRECT", OAuthFailed> =>
  Effect.tryPromise({
    try: () =>
      auth(options.provider as never, {
        serverUrl: options.url,
        fetchFn: fetchBy(base),
        ...(options.scope === undefined ? {} : { scope: options.scope }),
        ...more
      }),
    catch: failed(options)
  })

const withToken = (request: HttpClientRequest.HttpClientRequest, tokens: Tokens | undefined) =>
  tokens === undefined
    ? request
    : HttpClientRequest.setHeader(request, "authorization", `Bearer ${tokens.access_token}`)

/**
 * Returns a response's challenge about the tokens that it refuses; `undefined` for a response that does not refuse
 * them.
 */
const challengeOf = ({ extractWWWAuthenticateParams }: Sdk, response: HttpClientResponse.HttpClientResponse) => {
  const { headers, status } = response
  if (status !== 401 && status !== 403) return undefined
  const header = headers["www-authenticate"]
  const params = extractWWWAuthenticateParams(
    new Response(null, { status, ...(header === undefined ? {} : { headers: { "www-authenticate": header } }) })
  )
  if (status === 403 && params.error !== "insufficient_scope") return undefined
  const { resourceMetadataUrl, scope } = params
  return { resourceMetadataUrl, scope, isTooNarrow: status === 403 }
}

type Challenge = Exclude<ReturnType<typeof challengeOf>, undefined>

/** The page that a person was sent to: the refused token, the scopes, and the time until which it is not replaced. */
interface OpenPage {
  readonly token: string | undefined
  readonly scopes: string | undefined
  readonly until: number
}

/** Makes the client: a request whose tokens are refused is sent once more with new ones. The server has not read it. */
const make = Effect.fnUntraced(function*(options: Options) {
  const loaded = yield* sdk
  const base = yield* HttpClient.HttpClient
  const one = yield* Semaphore.make(1)
  const { origin } = new URL(options.url)
  const tokens = Effect.promise(async () => options.provider.tokens())
  const reopenAfter = Duration.toMillis(Duration.fromInputUnsafe(options.reopenAfter ?? "10 minutes"))

  /** The scopes that have been requested: a server may name only those that a request lacks. */
  let scopes = options.scope
  const flowOf = ({ isTooNarrow, resourceMetadataUrl, scope }: Challenge, current: Tokens | undefined) => {
    scopes = loaded.computeScopeUnion(scopes, isTooNarrow ? current?.scope : undefined, scope)
    return {
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
      ...(scopes === undefined ? {} : { scope: scopes }),
      // A refresh cannot add a scope.
      ...(isTooNarrow && loaded.isStrictScopeSuperset(scopes, current?.scope) ? { forceReauthorization: true } : {})
    }
  }

  let page: OpenPage | undefined
  const isOpen = (token: string | undefined, now: number): boolean =>
    page !== undefined && page.token === token && page.scopes === scopes && now < page.until

  /** Number of ended flows. */
  let flows = 0
  const renewed = (used: Tokens | undefined, challenge: Challenge, flowsBefore: number) =>
    one.withPermit(Effect.gen(function*() {
      const current = yield* tokens
      // Another request has refreshed them meanwhile.
      if (current !== undefined && current.access_token !== used?.access_token) return current
      const flow = flowOf(challenge, current)
      const now = yield* Clock.currentTimeMillis
      // A flow that ended meanwhile failed, or a person has a page. Another flow would replace the verifier of that page.
      if (flows > flowsBefore || isOpen(current?.access_token, now)) return undefined
      const result = yield* Effect.ensuring(
        authorize(loaded, options, base, flow),
        Effect.sync(() => {
          flows++
        })
      )
      if (result === "AUTHORIZED") return yield* tokens
      page = { token: current?.access_token, scopes, until: now + reopenAfter }
      return undefined
    })).pipe(
      Effect.catch((error) =>
        Effect.as(Effect.logWarning("The tokens of an MCP server could not be refreshed", error), undefined)
      )
    )

  return HttpClient.make((request) =>
    Effect.gen(function*() {
      if (URL.parse(request.url)?.origin !== origin) return yield* base.execute(request)
      const used = yield* tokens
      const response = yield* base.execute(withToken(request, used))
      const challenge = challengeOf(loaded, response)
      if (challenge === undefined) return response
      const next = yield* renewed(used, challenge, flows)
      return next === undefined ? response : yield* base.execute(withToken(request, next))
    })
  )
})

/**
 * An `HttpClient` for `Mcp.http` and `Mcp.sse` that sends the provider's tokens to the server. Requests that meet an expired token wait
 * for one refresh, and are sent once more. If a person has to authorize, the provider's `redirectToAuthorization` is called, and the
 * request fails with `McpUnauthorized`: see {@link finish}. Proxies and certificates are those of the `HttpClient` below.
 *
 * Fails with `ConfigurationError` if `@modelcontextprotocol/client` is not installed.
 *
 * ```ts
 * import { FetchHttpClient } from "effect/http"
 * import { Effect, Layer } from "effect"
 * import { Mcp } from "@recourse/mcp"
 * import * as OAuth from "@recourse/mcp/OAuth"
 *
 * const url = "https://example.com/mcp"
 * export const tools = (provider: OAuth.Provider) =>
 *   Mcp.tools({ name: "search", connect: Mcp.http(url) }).pipe(
 *     Effect.provide(OAuth.layer({ url, provider }).pipe(Layer.provide(FetchHttpClient.layer)))
 *   )
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (
  options: Options
): Layer.Layer<HttpClient.HttpClient, ConfigurationError, HttpClient.HttpClient> =>
  Layer.effect(HttpClient.HttpClient, make(options))

/**
 * The authorization server's answer with a person: the parameters of the redirection.
 *
 * @category models
 * @since 0.2.0
 */
export interface Answer {
  readonly code: string
  /** The issuer, if the server names itself. */
  readonly iss?: string | undefined
}

/**
 * Exchanges the code that the authorization server has sent to `redirectUrl` for tokens, which the provider saves. Check `state` yourself.
 * Fails with `OAuthFailed` if the server refuses the code.
 *
 * @category running
 * @since 0.2.0
 */
export const finish = (
  options: Options,
  { code, iss }: Answer
): Effect.Effect<void, OAuthFailed | ConfigurationError, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const base = yield* HttpClient.HttpClient
    const more = { authorizationCode: code, ...(iss === undefined ? {} : { iss }) }
    const result = yield* authorize(yield* sdk, options, base, more)
    if (result === "REDIRECT") return yield* Effect.fail(failed(options)(new Error("The code was not accepted")))
  })
