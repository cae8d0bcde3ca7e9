import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Mcp } from "@recourse/mcp"
import * as OAuth from "@recourse/mcp/OAuth"
import { call } from "../support/helpers.ts"
import { makeServer, type Message } from "../servers/byHand.mjs"
import { listening } from "../servers/overHttp.ts"

const json = (response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}) =>
  void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

/** An MCP server and its authorization server. Refresh tokens rotate: a used one revokes all that came of it. */
const guarded = Effect.gen(function*() {
  const server = makeServer({ version: "2025-06-18" })
  const state = {
    access: "access-1",
    refresh: "refresh-1",
    serial: 1,
    refreshes: 0,
    isRevoked: false,
    done: 0,
    lacking: {} as Record<string, string>
  }
  const answerToken = (request: URLSearchParams, response: ServerResponse) => {
    state.refreshes++
    const isCode = request.get("grant_type") === "authorization_code" && request.get("code") === "code-1"
    if (!isCode && (state.isRevoked || request.get("refresh_token") !== state.refresh)) {
      state.isRevoked = true
      return json(response, { error: "invalid_grant" }, 400)
    }
    state.serial++
    Object.assign(state, { access: `access-${state.serial}`, refresh: `refresh-${state.serial}`, isRevoked: false })
    // Slow enough for all requests to meet the old token.
    setTimeout(
      () =>
        json(response, {
          access_token: state.access,
          refresh_token: state.refresh,
          token_type: "Bearer",
          expires_in: 300
        }),
      20
    )
  }
  let origin = ""
  const handle = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const path = request.url ?? ""
    if (path.startsWith("/.well-known/oauth-protected-resource")) {
      return json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] })
    }
    if (path.startsWith("/.well-known/oauth-authorization-server")) {
      return json(response, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"]
      })
    }
    if (path === "/token") return answerToken(new URLSearchParams(body), response)
    if (path !== "/mcp" || request.method !== "POST") return void response.writeHead(405).end()
    if (request.headers.authorization !== `Bearer ${state.access}`) {
      const header =
        `Bearer error="invalid_token", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
      return json(response, { error: "invalid_token" }, 401, { "www-authenticate": header })
    }
    const message = JSON.parse(body) as Message
    const { name } = (message.params ?? {}) as { readonly name?: string }
    if (message.method === "tools/call" && state.lacking[name ?? ""] !== undefined) {
      const header = `Bearer error="insufficient_scope", scope="${state.lacking[name ?? ""]}"`
      return json(response, { error: "insufficient_scope" }, 403, { "www-authenticate": header })
    }
    if (message.method === "tools/call") state.done++
    void server.answer(message, () => {}).then((answer) =>
      answer === undefined ? void response.writeHead(202).end() : json(response, answer, 200, { "mcp-session-id": "s" })
    )
  }
  origin = yield* listening(handle)
  return { url: `${origin}/mcp`, state, expire: () => void (state.access = `other-${state.serial}`) }
})

/** A provider that keeps its tokens in memory. */
const providerOf = (first: object | undefined) => {
  const redirections: Array<URL> = []
  let tokens: any = first
  let information: any = { client_id: "client" }
  let verifier = ""
  const provider = {
    redirectUrl: "http://127.0.0.1/callback",
    clientMetadata: {
      client_name: "test",
      redirect_uris: ["http://127.0.0.1/callback"],
      token_endpoint_auth_method: "none"
    },
    tokens: () => tokens,
    saveTokens: (next: any) => void (tokens = next),
    clientInformation: () => information,
    saveClientInformation: (next: any) => void (information = next),
    redirectToAuthorization: (url: URL) => void redirections.push(url),
    saveCodeVerifier: (next: string) => void (verifier = next),
    codeVerifier: () => verifier
  } satisfies OAuth.Provider & Record<string, unknown>
  return { provider, redirections }
}

const live = (name: string, test: () => Effect.Effect<void, any, any>) =>
  it.live(name, () => Effect.scoped(test()) as Effect.Effect<void, unknown>, 30_000)

const toolsOf = (options: OAuth.Options) =>
  Effect.gen(function*() {
    const context = yield* Layer.build(OAuth.layer(options).pipe(Layer.provide(FetchHttpClient.layer)))
    return yield* Mcp.tools({ name: "s", connect: Mcp.http(options.url), trust: "trusted", toolErrors: "fail" }).pipe(
      Effect.provideContext(context)
    )
  })

describe("OAuth", () => {
  live("refreshes an expired token once for five calls at once", () =>
    Effect.gen(function*() {
      const { expire, state, url } = yield* guarded
      const { provider, redirections } = providerOf({
        access_token: "access-1",
        refresh_token: "refresh-1",
        token_type: "Bearer"
      })
      const tools = yield* toolsOf({ url, provider })
      for (let round = 1; round <= 3; round++) {
        expire()
        const texts = yield* Effect.all(Array.from({ length: 5 }, () => call(tools, "pay")), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(new Set(texts), new Set(["did pay for 2025-06-18"]))
        assert.deepStrictEqual([state.refreshes, state.done, redirections.length], [round, round * 5, 0])
      }
    }))

  live("sends a person to the server without tokens, and exchanges the code", () =>
    Effect.gen(function*() {
      const { url } = yield* guarded
      const { provider, redirections } = providerOf(undefined)
      const error = yield* Effect.flip(toolsOf({ url, provider }))
      assert.include(String(error), "401")
      assert.strictEqual(redirections[0]!.pathname, "/authorize")
      assert.strictEqual(redirections[0]!.searchParams.get("code_challenge_method"), "S256")
      yield* OAuth.finish({ url, provider }, { code: "code-1" }).pipe(Effect.provide(FetchHttpClient.layer))
      assert.strictEqual(yield* call(yield* toolsOf({ url, provider }), "read"), "did read for 2025-06-18")
    }))

  // Each flow stores a new verifier, so the code of an earlier page would be refused.
  live("sends a person to one page for all calls until it is used", () =>
    Effect.gen(function*() {
      const { expire, state, url } = yield* guarded
      const { provider, redirections } = providerOf({ access_token: "access-1", token_type: "Bearer" })
      const tools = yield* toolsOf({ url, provider })
      for (let page = 1; page <= 2; page++) {
        expire()
        for (let round = 1; round <= 3; round++) {
          const errors = yield* Effect.all(Array.from({ length: 5 }, () => Effect.flip(call(tools, "pay"))), {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(errors.map(({ reason }) => reason?._tag), Array(5).fill("McpUnauthorized"))
          assert.deepStrictEqual([redirections.length, state.done], [page, page - 1])
        }
        yield* OAuth.finish({ url, provider }, { code: "code-1" }).pipe(Effect.provide(FetchHttpClient.layer))
        provider.saveTokens({ access_token: state.access, token_type: "Bearer" })
        yield* call(tools, "pay")
        assert.strictEqual(state.done, page)
      }
    }))

  live("sends a person to the page again after `reopenAfter`", () =>
    Effect.gen(function*() {
      const { expire, url } = yield* guarded
      const { provider, redirections } = providerOf({ access_token: "access-1", token_type: "Bearer" })
      const tools = yield* toolsOf({ url, provider, reopenAfter: 0 })
      expire()
      for (let page = 1; page <= 2; page++) {
        yield* Effect.flip(call(tools, "pay"))
        assert.strictEqual(redirections.length, page)
      }
    }))

  live("tries a refused refresh once for five calls at once", () =>
    Effect.gen(function*() {
      const { expire, state, url } = yield* guarded
      const { provider } = providerOf({ access_token: "access-1", refresh_token: "refresh-1", token_type: "Bearer" })
      const tools = yield* toolsOf({ url, provider })
      expire()
      state.isRevoked = true
      yield* Effect.all(Array.from({ length: 5 }, () => Effect.flip(call(tools, "pay"))), { concurrency: "unbounded" })
      // The flow of the SDK itself tries a refused token twice.
      assert.strictEqual(state.refreshes, 2)
    }))

  live("reports a call as not authorized if the refresh is refused", () =>
    Effect.gen(function*() {
      const { expire, state, url } = yield* guarded
      const { provider } = providerOf({ access_token: "access-1", refresh_token: "refresh-1", token_type: "Bearer" })
      const tools = yield* toolsOf({ url, provider })
      expire()
      state.isRevoked = true
      const error = yield* Effect.flip(call(tools, "pay"))
      assert.deepStrictEqual([error._tag, error.reason?._tag, state.done], ["ExecutionError", "McpUnauthorized", 0])
    }))

  live("fails with a typed error if the code is refused", () =>
    Effect.gen(function*() {
      const { url } = yield* guarded
      const { provider } = providerOf(undefined)
      yield* Effect.flip(toolsOf({ url, provider }))
      const error = yield* Effect.flip(
        OAuth.finish({ url, provider }, { code: "wrong" }).pipe(Effect.provide(FetchHttpClient.layer))
      )
      assert.strictEqual(error._tag, "OAuthFailed")
    }))

  live("requests the scopes of before with the one that a call lacks", () =>
    Effect.gen(function*() {
      const { state, url } = yield* guarded
      const { provider, redirections } = providerOf({
        access_token: "access-1",
        refresh_token: "refresh-1",
        token_type: "Bearer",
        scope: "list profile"
      })
      const tools = yield* toolsOf({ url, provider, scope: "list" })
      state.lacking = { pay: "pay", read: "read list" }
      const requested = []
      for (const name of ["pay", "read"]) {
        const error = yield* Effect.flip(call(tools, name))
        requested.push([error.reason?._tag, redirections.at(-1)?.searchParams.get("scope")])
      }
      assert.deepStrictEqual(requested, [
        ["McpUnauthorized", "list profile pay"],
        ["McpUnauthorized", "list profile pay read"]
      ])
      // A person has authorized: the same tools have the new tokens.
      state.lacking = {}
      yield* OAuth.finish({ url, provider }, { code: "code-1" }).pipe(Effect.provide(FetchHttpClient.layer))
      yield* call(tools, "pay")
      assert.deepStrictEqual([redirections.length, state.done], [2, 1])
    }))

  live("refreshes tokens that have the scope which a server misses", () =>
    Effect.gen(function*() {
      const { state, url } = yield* guarded
      const tokens = { access_token: "access-1", refresh_token: "refresh-1", token_type: "Bearer", scope: "pay" }
      const { provider, redirections } = providerOf(tokens)
      const tools = yield* toolsOf({ url, provider })
      state.lacking = { pay: "pay" }
      const error = yield* Effect.flip(call(tools, "pay"))
      assert.deepStrictEqual([error.reason?._tag, state.refreshes, redirections.length], ["McpUnauthorized", 1, 0])
    }))

  live("sends no token to another origin", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const other = yield* listening((request, response) => {
        seen.push(request.headers.authorization)
        response.writeHead(401).end()
      })
      const { url } = yield* guarded
      const { provider } = providerOf({ access_token: "access-1", refresh_token: "refresh-1", token_type: "Bearer" })
      const context = yield* Layer.build(OAuth.layer({ url, provider }).pipe(Layer.provide(FetchHttpClient.layer)))
      yield* Effect.flip(
        Mcp.tools({ name: "s", connect: Mcp.http(`${other}/mcp`) }).pipe(Effect.provideContext(context))
      )
      assert.deepStrictEqual(seen, [undefined])
    }))
})
