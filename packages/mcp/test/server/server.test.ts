import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js"
import { Effect, type Scope } from "effect"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundled } from "../../../../test/support/bundled.ts"
import { type Answer, failure, http, type Shop, until } from "../support/shopServer.ts"

const stdio = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-shop-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
).pipe(Effect.map((path): Shop => {
  const log = join(path, "log")
  return {
    transport: () =>
      new StdioClientTransport({
        command: process.execPath,
        args: [bundled(join(import.meta.dirname, "../servers/shop.ts")), log]
      }),
    done: () => existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [],
    forget: () => rmSync(log, { force: true })
  }
}))

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

const call = (client: Client, name: string, args: Record<string, unknown> = {}, meta?: Record<string, unknown>) =>
  Effect.promise(() =>
    client.callTool({ name, arguments: args, ...(meta === undefined ? undefined : { _meta: meta }) }) as Promise<Answer>
  )

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
      const settled = yield* call(client, "settle")
      assert.hasAllKeys(JSON.parse(settled.content[0]!.text), ["outcome_unknown", "result"])
      assert.deepStrictEqual(settled.structuredContent, { state: "not settled" })
      assert.deepStrictEqual(settled._meta, { "recourse/outcome_unknown": true })
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
