import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js"
import { Effect, Layer, type Scope } from "effect"
import { LanguageModel, McpServer } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Recovery } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { shopTools } from "./servers/shopTools.ts"

interface Shop {
  readonly transport: () => Transport
  readonly done: () => ReadonlyArray<string>
  readonly forget: () => void
  readonly url?: URL
}

const stdio = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-shop-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
).pipe(Effect.map((path): Shop => {
  const log = join(path, "log")
  return {
    transport: () =>
      new StdioClientTransport({
        command: process.execPath,
        args: [fileURLToPath(new URL("servers/shop.ts", import.meta.url)), log]
      }),
    done: () => existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [],
    forget: () => rmSync(log, { force: true })
  }
}))

const http = Effect.gen(function*() {
  const done: Array<string> = []
  let requests = 0
  const { model, tools } = shopTools((what) => done.push(what))
  const server = McpServer.layerHttp({
    name: "shop",
    version: "1.0.0",
    path: "/mcp",
    protocols: Mcp.protocols,
    allowSessionTermination: true,
    registrations: Mcp.layerServer({ tools, defaults: { onError: Recovery.standard } })
  }).pipe(Layer.provide(Layer.effect(LanguageModel.LanguageModel, model)))
  const context = yield* Layer.build(
    HttpRouter.serve(server, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(NodeHttpServer.layer(() => createServer().on("request", () => requests++), {
        port: 0,
        host: "127.0.0.1"
      }))
    )
  )
  const { address } = yield* Effect.provide(HttpServer.HttpServer, context)
  const url = new URL(`http://127.0.0.1:${"port" in address ? address.port : 0}/mcp`)
  return {
    url,
    transport: () => new StreamableHTTPClientTransport(url) as Transport,
    done: () => done,
    requests: () => requests,
    forget: () => void done.splice(0)
  } satisfies Shop & { readonly requests: () => number }
})

/** A client of the SDK; `answer` is its user's reply to questions. */
const connect = (shop: Shop, answer?: (message: string) => ElicitResult) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(
        { name: "test", version: "1.0.0" },
        { capabilities: answer === undefined ? {} : { elicitation: { form: {} } } }
      )
      if (answer !== undefined) {
        client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message))
      }
      await client.connect(shop.transport())
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

interface Answer {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly type: string; readonly text: string }>
  readonly structuredContent?: unknown
  readonly _meta?: Readonly<Record<string, unknown>>
}

const call = (client: Client, name: string, args: Record<string, unknown> = {}, meta?: Record<string, unknown>) =>
  Effect.promise(() =>
    client.callTool({ name, arguments: args, ...(meta === undefined ? undefined : { _meta: meta }) }) as Promise<Answer>
  )

const failure = ({ content, isError }: Answer) => {
  assert.isTrue(isError)
  return JSON.parse(content[0]!.text) as { readonly code: string; readonly message_for_model: string }
}

/** A shop, a client of it, and the person at the client. */
interface Connected {
  readonly shop: Shop
  readonly client: Client
  readonly questions: Array<string>
  readonly answers: Array<ElicitResult>
}

const checks: Readonly<Record<string, (connected: Connected) => Effect.Effect<void, never, Scope.Scope>>> = {
  "lists tools with schemas and annotations, and validates their structured results": (
    { client, shop }
  ) =>
    Effect.gen(function*() {
      const { tools } = yield* Effect.promise(() => client.listTools())
      const byName = new Map(tools.map((tool) => [tool.name, tool]))
      assert.deepStrictEqual(byName.get("get_order")?.annotations, {
        readOnlyHint: true,
        idempotentHint: true,
        destructiveHint: false,
        openWorldHint: true
      })
      assert.deepStrictEqual(byName.get("charge")?.annotations, {
        readOnlyHint: false,
        idempotentHint: false,
        destructiveHint: true,
        openWorldHint: true
      })
      assert.strictEqual(byName.get("get_order")?.outputSchema?.type, "object")
      assert.strictEqual(byName.get("ask_desk")?.outputSchema?.type, "object")
      assert.isUndefined(byName.get("page")?.outputSchema)
      const { content, structuredContent } = yield* call(client, "get_order", { order: "A-1" })
      assert.deepStrictEqual(structuredContent, { order: "A-1", total: 12.5 })
      assert.deepStrictEqual(JSON.parse(content[0]!.text), structuredContent)
      assert.deepStrictEqual(shop.done(), ["read A-1"])
    }),
  "a client reads what a model would: issues of arguments, no cause, an envelope around untrusted text": (
    { client }
  ) =>
    Effect.gen(function*() {
      const wrong = failure(yield* call(client, "get_order", { order: 1 }))
      assert.strictEqual(wrong.code, "invalid_arguments")
      assert.include(wrong.message_for_model, "order")
      const secret = yield* call(client, "secret")
      assert.strictEqual(failure(secret).code, "outcome_unknown")
      assert.notInclude(JSON.stringify(secret), "hunter2")
      const page = yield* call(client, "page")
      assert.isTrue(JSON.parse(page.content[0]!.text).untrusted)
      assert.deepStrictEqual(page._meta, { "recourse/untrusted": ["page"] })
      const long = yield* call(client, "long")
      assert.strictEqual(JSON.parse(long.content[0]!.text).status, "truncated")
      assert.strictEqual((long.structuredContent as { lines: ReadonlyArray<string> }).lines.length, 9_000)
      assert.strictEqual((yield* call(client, "flaky")).content[0]!.text, "there")
      const unknown = yield* Effect.promise(() => client.callTool({ name: "nothing" }).catch((error) => error))
      assert.strictEqual((unknown as { readonly code: number }).code, -32602)
    }),
  "the person at the client approves, refuses, or closes the question; a client that cannot ask is refused": (
    { answers, client, questions, shop }
  ) =>
    Effect.gen(function*() {
      answers.push(
        { action: "accept", content: { allow: true } },
        { action: "accept", content: { allow: false } },
        { action: "decline" },
        { action: "cancel" }
      )
      assert.deepStrictEqual((yield* call(client, "refund", { order: "A-1" })).structuredContent, { refunded: "A-1" })
      assert.include(questions[0], `"A-1"`)
      assert.strictEqual(failure(yield* call(client, "refund", { order: "A-2" })).code, "permission_denied")
      assert.strictEqual(failure(yield* call(client, "refund", { order: "A-3" })).code, "permission_denied")
      assert.strictEqual(failure(yield* call(client, "refund", { order: "A-4" })).code, "approval_required")
      assert.deepStrictEqual(shop.done(), ["refund A-1"])

      const silent = yield* connect(shop)
      const refused = failure(yield* call(silent, "refund", { order: "A-5" }))
      assert.strictEqual(refused.code, "approval_required")
      assert.include(refused.message_for_model, "cannot ask")
      assert.deepStrictEqual(shop.done(), ["refund A-1"])
    }),
  "an agent is a tool: what it waits for is asked, and its answer fits the schema": (
    { answers, client, questions, shop }
  ) =>
    Effect.gen(function*() {
      answers.push({ action: "accept", content: { allow: true } })
      const { structuredContent } = yield* call(client, "ask_desk", { question: "I want my money back" })
      assert.deepStrictEqual(structuredContent, { answer: "It is paid back." })
      assert.strictEqual(questions.length, 1)
      assert.include(questions[0], "A-7")
      assert.deepStrictEqual(shop.done(), ["refund A-7"])
    }),
  "progress is told to who asks for it; a cancelled request interrupts its call": (
    { client, shop }
  ) =>
    Effect.gen(function*() {
      const heard: Array<string | undefined> = []
      yield* Effect.promise(() =>
        client.callTool({ name: "flaky" }, undefined, { onprogress: ({ message }) => heard.push(message) })
      )
      assert.include(heard, "flaky, attempt 2")
      const abort = new AbortController()
      const cancelled = client.callTool({ name: "charge", arguments: { order: "slow" } }, undefined, {
        signal: abort.signal
      }).catch((error: unknown) => error)
      yield* until(() => shop.done().includes("charge slow"))
      abort.abort()
      yield* Effect.promise(() => cancelled)
      yield* until(() => shop.done().includes("interrupted slow"))
    }),
  "the same idempotency key is the same call, also behind a cancellation": ({ client, shop }) =>
    Effect.gen(function*() {
      const key = { "recourse/idempotency-key": "k-1" }
      const both = yield* Effect.all([
        call(client, "charge", { order: "A-1" }, key),
        call(client, "charge", { order: "A-1" }, key)
      ], { concurrency: 2 })
      assert.deepStrictEqual(both.map(({ content }) => content[0]!.text), ["charged", "charged"])
      assert.strictEqual((yield* call(client, "charge", { order: "A-1" }, key)).content[0]!.text, "charged")
      assert.isTrue((yield* call(client, "charge", { order: "A-2" }, key)).isError)
      assert.deepStrictEqual(shop.done(), ["charge A-1"])
      const slow = { "recourse/idempotency-key": "k-2" }
      const abort = new AbortController()
      const cancelled = client.callTool({ name: "charge", arguments: { order: "slow" }, _meta: slow }, undefined, {
        signal: abort.signal
      }).catch((error: unknown) => error)
      yield* until(() => shop.done().includes("charge slow"))
      abort.abort()
      yield* Effect.promise(() => cancelled)
      yield* until(() => shop.done().includes("interrupted slow"))
      assert.strictEqual(failure(yield* call(client, "charge", { order: "slow" }, slow)).code, "outcome_unknown")
      assert.deepStrictEqual(shop.done().filter((what) => what === "charge slow"), ["charge slow"])
    })
}

const connected = (shop: Shop) =>
  Effect.gen(function*() {
    const questions: Array<string> = []
    const answers: Array<ElicitResult> = []
    const client = yield* connect(shop, (message) => {
      questions.push(message)
      return answers.shift() ?? { action: "cancel" }
    })
    return { shop, client, questions, answers } satisfies Connected
  })

describe("the SDK's client, over streamable HTTP", () => {
  for (const [name, check] of Object.entries(checks)) {
    it.live(name, () => http.pipe(Effect.flatMap(connected), Effect.flatMap(check), Effect.scoped), 30_000)
  }
})

describe("the SDK's client, over stdio", () => {
  it.live("all of these", () =>
    Effect.gen(function*() {
      const shop = yield* stdio
      const one = yield* connected(shop)
      for (const check of Object.values(checks)) {
        yield* Effect.scoped(check(one))
        shop.forget()
        one.questions.length = 0
      }
    }).pipe(Effect.scoped), 120_000)
})

/** Waits for a real server, which has no virtual time. */
const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => holds() ? Effect.void : Effect.andThen(Effect.sleep(10), until(holds))).pipe(
    Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.die("it does not come true") })
  )

/** A request in raw bytes, for behaviour outside of the SDK's clients. */
const post = (url: URL, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify(body),
      ...(signal === undefined ? undefined : { signal })
    })
    const text = await response.text()
    const json = text.startsWith("data:") ? text.trim().split("\n\n").at(-1)!.slice("data:".length) : text
    return { session: response.headers.get("mcp-session-id") ?? "", body: json === "" ? undefined : JSON.parse(json) }
  })

const version = { "mcp-protocol-version": "2025-11-25" }

/** Begins a session; answers the headers of its requests. */
const session = (url: URL) =>
  Effect.gen(function*() {
    const { session } = yield* post(url, {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } }
    })
    const headers = { ...version, "mcp-session-id": session }
    yield* post(url, { jsonrpc: "2.0", method: "notifications/initialized" }, headers)
    return headers
  })

const charge = (id: number, order: string, meta?: Record<string, unknown>) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "charge", arguments: { order }, ...(meta === undefined ? undefined : { _meta: meta }) }
})

const codeOf = ({ body }: { readonly body: { readonly result: Answer } }) => failure(body.result).code

describe("requests that are sent again, over HTTP", () => {
  it.live(
    "equal requests of a session are one call; others are separate",
    () =>
      Effect.gen(function*() {
        const { done, url } = yield* http
        const one = yield* session(url)
        const two = yield* session(url)
        yield* Effect.all([post(url, charge(1, "A-1"), one), post(url, charge(1, "A-1"), one)], { concurrency: 2 })
        const again = yield* post(url, charge(1, "A-1"), one)
        assert.strictEqual(again.body.result.content[0].text, "charged")
        assert.deepStrictEqual(done(), ["charge A-1"])
        yield* post(url, charge(1, "A-1"), two)
        yield* post(url, charge(1, "A-2"), one)
        yield* post(url, charge(2, "A-1"), one)
        assert.deepStrictEqual(done(), ["charge A-1", "charge A-1", "charge A-2", "charge A-1"])
      }).pipe(Effect.scoped),
    30_000
  )

  it.live("a write with a broken connection is unknown and not rerun", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const headers = yield* session(url)
      const abort = new AbortController()
      yield* Effect.forkChild(Effect.exit(post(url, charge(1, "slow"), headers, abort.signal)))
      yield* until(() => done().includes("charge slow"))
      abort.abort()
      yield* until(() => done().includes("interrupted slow"))
      assert.strictEqual(codeOf(yield* post(url, charge(1, "slow"), headers)), "outcome_unknown")
      assert.deepStrictEqual(done(), ["charge slow", "interrupted slow"])
    }).pipe(Effect.scoped), 30_000)

  it.live("a call runs as long as one of its requests waits", () =>
    Effect.gen(function*() {
      const { done, requests, url } = yield* http
      const headers = yield* session(url)
      const abort = new AbortController()
      yield* Effect.forkChild(Effect.exit(post(url, charge(1, "slow"), headers, abort.signal)))
      yield* until(() => done().includes("charge slow"))
      const before = requests()
      const second = new AbortController()
      const waits = yield* Effect.forkChild(Effect.exit(post(url, charge(1, "slow"), headers, second.signal)))
      yield* until(() => requests() > before)
      yield* Effect.sleep(50)
      abort.abort()
      yield* Effect.sleep(50)
      assert.deepStrictEqual(done(), ["charge slow"])
      assert.isUndefined(waits.pollUnsafe())
      second.abort()
      yield* until(() => done().includes("interrupted slow"))
    }).pipe(Effect.scoped), 30_000)

  it.live("an idempotency key belongs to one client", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const key = { "recourse/idempotency-key": "k" }
      const anna = { ...yield* session(url), authorization: "Bearer anna" }
      const anna2 = { ...yield* session(url), authorization: "Bearer anna" }
      const bert = { ...yield* session(url), authorization: "Bearer bert" }
      yield* post(url, charge(1, "A-1", key), anna)
      yield* post(url, charge(7, "A-1", key), anna2)
      assert.deepStrictEqual(done(), ["charge A-1"])
      yield* post(url, charge(1, "A-1", key), bert)
      assert.deepStrictEqual(done(), ["charge A-1", "charge A-1"])
      const wrong = yield* post(url, charge(2, "A-1", { "recourse/idempotency-key": 5 }), anna)
      assert.isTrue(wrong.body.result.isError)
    }).pipe(Effect.scoped), 30_000)
})

/** A `tools/call` of the revision without sessions. */
const modern = (url: URL, order: string, more: object = {}, headers: Record<string, string> = {}, meta: object = {}) =>
  post(url, {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: "refund",
      arguments: { order },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
        ...meta
      },
      ...more
    }
  }, { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "refund", ...headers })

const allowed = { "call_1": { action: "accept", content: { allow: true } } }

describe("approvals without a session (2026-07-28)", () => {
  it.live("the client answers with its next request, once, for this call", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const asked = yield* modern(url, "A-1")
      const { inputRequests, requestState } = asked.body.result
      assert.include(inputRequests.call_1.params.message, "A-1")
      // The state contains a conversation, which the client must not read.
      assert.notInclude(Buffer.from(requestState, "base64url").toString("latin1"), "A-1")
      const answered = { requestState, inputResponses: allowed }
      for (
        const refused of [
          yield* modern(url, "A-2", answered),
          yield* modern(url, "A-1", answered, { authorization: "Bearer bert" }),
          yield* modern(url, "A-1", { ...answered, requestState: `${requestState.slice(0, -4)}AAAA` }),
          yield* modern(url, "A-1", { ...answered, requestState: "x" })
        ]
      ) assert.isDefined(refused.body.error, JSON.stringify(refused.body))
      assert.deepStrictEqual(done(), [])
      const { body } = yield* modern(url, "A-1", answered)
      assert.deepStrictEqual(body.result.structuredContent, { refunded: "A-1" })
      assert.isDefined((yield* modern(url, "A-1", answered)).body.error)
      assert.deepStrictEqual(done(), ["refund A-1"])
    }).pipe(Effect.scoped), 30_000)

  it.live("with an idempotency key, a repeated answer is answered again", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const key = { "recourse/idempotency-key": "k" }
      const { requestState } = (yield* modern(url, "A-1", {}, {}, key)).body.result
      assert.strictEqual((yield* modern(url, "A-1", {}, {}, key)).body.result.requestState, requestState)
      const answered = { requestState, inputResponses: allowed }
      const first = yield* modern(url, "A-1", answered, {}, key)
      const second = yield* modern(url, "A-1", answered, {}, key)
      assert.deepStrictEqual(second.body.result, first.body.result)
      assert.deepStrictEqual(done(), ["refund A-1"])
    }).pipe(Effect.scoped), 30_000)

  it.live("who declines, or does not answer, has not approved", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const ask = () => Effect.map(modern(url, "A-1"), ({ body }) => body.result.requestState as string)
      const declined = { requestState: yield* ask(), inputResponses: { "call_1": { action: "decline" } } }
      assert.strictEqual(codeOf(yield* modern(url, "A-1", declined)), "permission_denied")
      assert.strictEqual(codeOf(yield* modern(url, "A-1", { requestState: yield* ask() })), "approval_required")
      assert.deepStrictEqual(done(), [])
    }).pipe(Effect.scoped), 30_000)
})
