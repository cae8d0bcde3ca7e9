import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { IncomingMessage } from "node:http"
import { Mcp } from "@recourse/mcp"
import { call, live } from "../support/helpers.ts"
import { overHttp } from "../servers/overHttp.ts"

const toolsOf = (url: string) =>
  Mcp.tools({ name: "s", connect: Mcp.http(url), trust: "trusted", toolErrors: "fail", timeout: "10 seconds" })

/** A server that forgets sessions: it refuses all requests of the first `forgotten()` ones with a status. */
const forgetful = (status: number) =>
  Effect.gen(function*() {
    let forgotten = 0
    const isForgotten = ({ headers }: IncomingMessage) =>
      Number(String(headers["mcp-session-id"] ?? "session-99").slice("session-".length)) <= forgotten
    const server = yield* overHttp({ version: "2025-06-18" }, {
      before: (message, request, response) => {
        if (["initialize", "notifications/initialized"].includes(message.method) || !isForgotten(request)) return false
        response.writeHead(status, { "content-type": "application/json" })
        response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message: "Bad Request" } }))
        return true
      }
    })
    const count = (name: string) => server.seen.filter((one) => one.name === name || one.method === name).length
    return { ...server, count, forget: () => void forgotten++ }
  })

describe.each([404, 410, 400])("an expired session that the server answers with %s", (status) => {
  for (const name of ["read", "pay"]) {
    live(`is started again, and ${name} is called once`, () =>
      Effect.gen(function*() {
        const { count, forget, url } = yield* forgetful(status)
        const tools = yield* toolsOf(url)
        forget()
        assert.strictEqual(yield* call(tools, name), `did ${name} for 2025-06-18`)
        // One request was refused, one was read.
        assert.deepStrictEqual([count("initialize"), count(name)], [2, 2])
      }))
  }

  live("is tried once more only, and the call is known not to be done", () =>
    Effect.gen(function*() {
      const { count, forget, url } = yield* forgetful(status)
      const tools = yield* toolsOf(url)
      for (let session = 0; session < 5; session++) forget()
      const error = yield* Effect.flip(call(tools, "pay"))
      assert.deepStrictEqual([error._tag, error.reason?._tag], ["ExecutionError", "McpRequestNotSent"])
      assert.deepStrictEqual([count("initialize"), count("pay")], [2, 2])
    }))

  live("is started again once for calls that run at once", () =>
    Effect.gen(function*() {
      const { count, forget, url } = yield* forgetful(status)
      const tools = yield* toolsOf(url)
      forget()
      const texts = yield* Effect.all(Array.from({ length: 5 }, () => call(tools, "pay")), { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(texts), new Set(["did pay for 2025-06-18"]))
      assert.strictEqual(count("initialize"), 2)
    }))

  live("is started again for a list of tools", () =>
    Effect.gen(function*() {
      const { forget, url } = yield* forgetful(status)
      const server = yield* Mcp.connect({ name: "s", connect: Mcp.http(url) })
      yield* server.tools
      forget()
      assert.strictEqual((yield* server.tools).length, 2)
    }))
})

describe("a session that expires while a call runs", () => {
  live("does not send that call again", () =>
    Effect.gen(function*() {
      let isForgotten = false
      let paid = 0
      let answer: (() => void) | undefined
      const { url } = yield* overHttp({ version: "2025-06-18" }, {
        before: (message, request, response) => {
          const isFirst = request.headers["mcp-session-id"] === "session-1"
          if (message.method === "tools/call" && message.params?.name === "pay") {
            paid++
            answer = () => {
              response.writeHead(200, { "content-type": "application/json" })
              response.end(
                JSON.stringify({
                  jsonrpc: "2.0",
                  id: message.id,
                  result: { content: [{ type: "text", text: "paid" }] }
                })
              )
            }
            return true
          }
          if (!isForgotten || !isFirst) return false
          response.writeHead(404).end()
          return true
        }
      })
      const tools = yield* toolsOf(url)
      const paying = yield* Effect.forkChild(call(tools, "pay"), { startImmediately: true })
      yield* Effect.repeat(Effect.sleep("5 millis"), { while: () => answer === undefined })
      isForgotten = true
      assert.strictEqual(yield* call(tools, "read"), "did read for 2025-06-18")
      answer!()
      assert.strictEqual(yield* Fiber.join(paying), "paid")
      assert.strictEqual(paid, 1)
    }))

  live("leaves the outcome unknown if its answer is lost", () =>
    Effect.gen(function*() {
      let paid = 0
      const { url } = yield* overHttp({ version: "2025-06-18" }, {
        before: (message, _request, response) => {
          if (message.params?.name !== "pay") return false
          paid++
          response.destroy()
          return true
        }
      })
      const error = yield* Effect.flip(call(yield* toolsOf(url), "pay"))
      assert.deepStrictEqual([error._tag, error.reason?._tag, paid], ["OutcomeUnknown", "McpResponseLost", 1])
    }))

  live("is not taken for one if the server refuses the request itself", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* overHttp({ version: "2025-06-18" }, {
        before: (message, _request, response) => {
          if (message.params?.name !== "pay") return false
          response.writeHead(400).end()
          return true
        }
      })
      const error = yield* Effect.flip(call(yield* toolsOf(url), "pay"))
      assert.strictEqual(error.reason?._tag, "McpProtocolError")
      assert.strictEqual(seen.filter(({ name }) => name === "pay").length, 1)
    }))
})
