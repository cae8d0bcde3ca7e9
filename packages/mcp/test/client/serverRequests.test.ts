/** Messages of servers that answer no request: requests of their own, late answers, errors without an id. No call fails or is repeated by them. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { ServerResponse } from "node:http"
import { Mcp } from "@recourse/mcp"
import { call, live, overStdio, resultOf } from "../support/helpers.ts"
import type { Message } from "../servers/byHand.mjs"
import { event, type HttpBehaviour, overHttp } from "../servers/overHttp.ts"

const version = "2025-06-18"
const text = (words: string) => ({ content: [{ type: "text", text: words }] })
const answerTo = ({ id }: Message, words = "seen") => ({ jsonrpc: "2.0", id, result: text(words) })

const toolsOf = (url: string, timeout = "5 seconds") =>
  Mcp.tools({ name: "s", connect: Mcp.http(url), trust: "trusted", timeout: timeout as "5 seconds" })

type Reply = Readonly<Record<string, unknown>>

/** A server that sends requests of its own in the stream of each call, and answers the call when it has the reply. */
const asking = (method: string, behaviour: (reply: Reply, response: ServerResponse) => void) =>
  Effect.gen(function*() {
    const replies: Array<Reply> = []
    const calls: Array<string> = []
    let answer: (() => void) | undefined
    const before: HttpBehaviour["before"] = (message, _, response) => {
      if (message.method === undefined) {
        replies.push(message as unknown as Reply)
        behaviour(message as unknown as Reply, response)
        answer?.()
        return true
      }
      if (message.method !== "tools/call") return false
      calls.push(String(message.params?.["name"]))
      response.writeHead(200, { "content-type": "text/event-stream" })
      event(response)({ jsonrpc: "2.0", id: "mine", method, params: {} })
      answer = () =>
        void setTimeout(() => {
          event(response)(answerTo(message))
          response.end()
        }, 20)
      return true
    }
    const { server, url } = yield* overHttp({ version }, { before })
    return { calls, replies, server, url }
  })

const accepts = (_: Reply, response: ServerResponse) => void response.writeHead(202).end()

describe("a request of a server", () => {
  for (const method of ["ping", "sampling/createMessage", "elicitation/create", "roots/list"]) {
    live(`in the stream of a call is answered: ${method}`, () =>
      Effect.gen(function*() {
        const { replies, url } = yield* asking(method, accepts)
        assert.strictEqual(yield* call(yield* toolsOf(url), "read"), "seen")
        assert.deepStrictEqual(replies.map(({ id }) => id), ["mine"])
        assert.strictEqual("result" in replies[0]!, method === "ping")
      }))
  }

  for (const status of [400, 404, 410, 500, 503]) {
    live(`whose answer is refused with ${status} fails no call`, () =>
      Effect.gen(function*() {
        const { calls, url } = yield* asking("ping", (_, response) => void response.writeHead(status).end())
        const tools = yield* toolsOf(url)
        assert.strictEqual(yield* call(tools, "pay"), "seen")
        assert.strictEqual(yield* call(tools, "pay"), "seen")
        assert.deepStrictEqual(calls, ["pay", "pay"])
      }))
  }

  live("whose answer hangs holds no call up", () =>
    Effect.gen(function*() {
      const { calls, url } = yield* asking("ping", () => {})
      assert.strictEqual(yield* call(yield* toolsOf(url, "2 seconds"), "pay"), "seen")
      assert.deepStrictEqual(calls, ["pay"])
    }))

  live("in its own stream is answered", () =>
    Effect.gen(function*() {
      const { replies, server, url } = yield* asking("ping", accepts)
      yield* toolsOf(url)
      yield* Effect.repeat(Effect.sleep("5 millis"), { while: () => server.push === undefined })
      server.push!({ jsonrpc: "2.0", id: "p", method: "ping" })
      server.push!({ jsonrpc: "2.0", id: "e", method: "elicitation/create", params: {} })
      yield* Effect.repeat(Effect.sleep("5 millis"), { while: () => replies.length < 2 })
      assert.deepStrictEqual(replies.map((reply) => [reply["id"], "result" in reply, "error" in reply]).toSorted(), [
        ["e", false, true],
        ["p", true, false]
      ])
    }))

  live("whose answer is refused does not repeat a write, though the session has ended", () =>
    Effect.gen(function*() {
      let hasEnded = false
      const paid: Array<string> = []
      const { url } = yield* overHttp({ version }, {
        before: (message, { headers }, response) => {
          if (message.method === "tools/call" && !hasEnded) {
            hasEnded = true
            paid.push("first")
            response.writeHead(200, { "content-type": "text/event-stream" })
            event(response)({ jsonrpc: "2.0", id: "mine", method: "ping" })
            setTimeout(() => response.destroy(), 50)
            return true
          }
          if (message.method === "tools/call") paid.push("again")
          if (!hasEnded || headers["mcp-session-id"] !== "session-1") return false
          response.writeHead(400).end()
          return true
        }
      })
      const error = yield* Effect.flip(call(yield* toolsOf(url), "pay"))
      assert.deepStrictEqual([error._tag, paid], ["OutcomeUnknown", ["first"]])
    }))
})

/** A server whose calls are answered by a function. */
const answering = (answer: (message: Message, response: ServerResponse) => void, refusedNotifications?: number) =>
  overHttp({ version }, {
    before: (message, _, response) => {
      if (refusedNotifications !== undefined && message.id === undefined) {
        response.writeHead(refusedNotifications).end()
        return true
      }
      if (message.method !== "tools/call") return false
      answer(message, response)
      return true
    }
  })

const notification = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } }
const streamed = (response: ServerResponse, ...messages: ReadonlyArray<unknown>) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (const message of messages) event(response)(message)
  response.end()
}
const bare = (body: unknown, type?: string) => (response: ServerResponse) =>
  void response.writeHead(200, type === undefined ? {} : { "content-type": type }).end(JSON.stringify(body))

/** Answers of servers by their oddity. */
const answers: Readonly<Record<string, (message: Message, response: ServerResponse) => void>> = {
  "behind a late answer to another request": (message, response) =>
    streamed(response, answerTo({ ...message, id: 99 }, "late"), answerTo(message)),
  "twice": (message, response) => streamed(response, answerTo(message), answerTo(message, "again")),
  "in a batch of JSON with a notification": (message, response) =>
    bare([notification, answerTo(message)], "application/json")(response),
  "in JSON without a media type": (message, response) => bare(answerTo(message))(response),
  "in JSON with the type of any text": (message, response) => bare(answerTo(message), "text/plain")(response)
}

describe("an answer", () => {
  for (const [title, answer] of Object.entries(answers)) {
    live(`that comes ${title} is read`, () =>
      Effect.gen(function*() {
        const { url } = yield* answering(answer)
        assert.strictEqual(yield* call(yield* toolsOf(url), "pay"), "seen")
      }))
  }

  live("that has its structured content only as text is read by the tool's schema", () =>
    Effect.gen(function*() {
      const outputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
      const tools = [{ name: "count", inputSchema: { type: "object" }, outputSchema }]
      const structured = (words: string) =>
        Effect.gen(function*() {
          const { url } = yield* overHttp({ version, tools, result: text(words) })
          return yield* Effect.match(resultOf(yield* toolsOf(url), "count"), {
            onFailure: ({ _tag }) => _tag,
            onSuccess: ({ structuredContent }) => structuredContent
          })
        })
      assert.deepStrictEqual(yield* structured("{\"n\":3}"), { n: 3 })
      assert.strictEqual(yield* structured("{\"n\":\"three\"}"), "InvalidResult")
      assert.strictEqual(yield* structured("three"), "InvalidResult")
    }))

  live("429 with a date says until when", () =>
    Effect.gen(function*() {
      const { url } = yield* answering((_, response) =>
        void response.writeHead(429, { "retry-after": new Date(Date.now() + 100_000).toUTCString() }).end()
      )
      const error = yield* Effect.flip(call(yield* toolsOf(url), "read"))
      const { reason } = error as unknown as { readonly reason: { readonly retryAfter: { readonly value: number } } }
      assert.include(JSON.stringify(error), "McpRateLimited")
      assert.isDefined(reason.retryAfter)
    }))
})

describe("a server that knows no notifications", () => {
  for (const status of [400, 404, 405, 500]) {
    live(`and refuses them with ${status} is used`, () =>
      Effect.gen(function*() {
        const { url } = yield* answering((message, response) => streamed(response, answerTo(message)), status)
        assert.strictEqual(yield* call(yield* toolsOf(url), "read"), "seen")
      }))
  }

  live("and answers them with errors without an id is used over stdio", () =>
    Effect.gen(function*() {
      const error = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32601, message: "Method not found" } })
      const tools = yield* Mcp.tools({
        name: "s",
        connect: overStdio({ version, noise: [error] }),
        trust: "trusted",
        timeout: "5 seconds"
      })
      assert.strictEqual(yield* call(tools, "pay"), `did pay for ${version}`)
      assert.strictEqual(yield* call(tools, "pay"), `did pay for ${version}`)
    }))
})
