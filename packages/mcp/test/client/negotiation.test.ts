import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { McpServer, Tool as AiTool } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { ChildProcess } from "effect/process"
import { createServer } from "node:http"
import { join } from "node:path"
import { AiToolkit, Recovery } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { bundled } from "../../../../test/support/bundled.ts"
import { call, live, overStdio, versions } from "../support/helpers.ts"
import type { Options } from "../servers/byHand.mjs"
import { overHttp } from "../servers/overHttp.ts"

/** Connects, lists the tools, and calls one of them. */
const used = <R>(connect: Mcp.Connect<R>) =>
  Effect.gen(function*() {
    const tools = yield* Mcp.tools({ name: "s", connect, trust: "trusted", timeout: "10 seconds" })
    return [tools.map(({ name }) => name).join(), yield* call(tools, "pay")]
  })

/** Kinds of servers: how each refuses a handshake of another version. */
const servers: ReadonlyArray<readonly [kind: string, options: Omit<Options, "version">, status?: number]> = [
  ["without the method", {}],
  ["that refuses the version", { refusal: { code: -32022, message: "another version" }, strict: true }],
  ["with invalid parameters", { refusal: { code: -32602, message: "unsupported version" }, strict: true }],
  ["with an error of its own", { refusal: { code: -32000, message: "no" }, strict: true }]
]

const statuses = [400, 404, 405, 406, 422]

describe.each(versions)("a server of %s", (version) => {
  const expected = ["s_read,s_pay", `did pay for ${version}`]
  for (const [kind, options] of servers) {
    live(`${kind} is reached over stdio`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* used(overStdio({ ...options, version })), expected)
      }))
    for (const streams of [false, true]) {
      live(`${kind} is reached over HTTP that answers ${streams ? "streams" : "JSON"}`, () =>
        Effect.gen(function*() {
          const { seen, url } = yield* overHttp({ ...options, version }, { streams })
          assert.deepStrictEqual(yield* used(Mcp.http(url)), expected)
          assert.strictEqual(seen.at(-1)!.headers["mcp-protocol-version"], version)
        }))
    }
  }
  live("is the only one that is spoken to if the program says so", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* used(overStdio({ version }, { protocol: version })), expected)
      const { url } = yield* overHttp({ version })
      assert.deepStrictEqual(yield* used(Mcp.http(url, { protocol: version })), expected)
      const other = version === "2025-06-18" ? "2025-03-26" : "2025-06-18"
      assert.strictEqual((yield* Effect.flip(used(Mcp.http(url, { protocol: other }))))._tag, "McpClientError")
    }))
})

describe("a server of 2026-07-28 over HTTP", () => {
  for (const refusedStatus of statuses) {
    live(`is reached though it refuses initialize with ${refusedStatus}`, () =>
      Effect.gen(function*() {
        const { url } = yield* overHttp({ version: "2026-07-28" }, { refusedStatus })
        assert.deepStrictEqual(yield* used(Mcp.http(url)), ["s_read,s_pay", "did pay for 2026-07-28"])
      }))
  }
})

describe("negotiation", () => {
  live("costs one request with a server of today", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* overHttp({ version: "2025-11-25" })
      yield* used(Mcp.http(url))
      assert.deepStrictEqual(seen.map(({ method }) => method), [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call"
      ])
      assert.isUndefined(seen[0]!.headers["mcp-protocol-version"])
    }))

  live("takes the draft of 2024-10-07 for the version that it became", () =>
    Effect.gen(function*() {
      const server: Options = { version: "2024-11-05", handshake: { protocolVersion: "2024-10-07" } }
      const expected = ["s_read,s_pay", "did pay for 2024-11-05"]
      assert.deepStrictEqual(yield* used(overStdio(server)), expected)
      const { seen, url } = yield* overHttp(server)
      assert.deepStrictEqual(yield* used(Mcp.http(url)), expected)
      assert.strictEqual(seen.filter(({ method }) => method === "initialize").length, 1)
    }))

  live("tries the versions that a refusal names before others", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* overHttp({
        version: "2024-11-05",
        strict: true,
        refusal: { code: -32602, message: "Unsupported protocol version", data: { supported: ["2024-11-05"] } }
      })
      yield* used(Mcp.http(url))
      assert.deepStrictEqual(seen.slice(0, 2).map(({ method }) => method), ["initialize", "initialize"])
    }))

  for (const status of [401, 403, 429, 500, 503]) {
    live(`ends with a status ${status}, which says nothing of the version`, () =>
      Effect.gen(function*() {
        const { seen, url } = yield* overHttp({ version: "2026-07-28" }, {
          before: (_message, _request, response) => {
            response.writeHead(status).end()
            return true
          }
        })
        const error = yield* Effect.flip(used(Mcp.http(url)))
        assert.strictEqual(error._tag, "McpClientError")
        assert.include(String(error), String(status))
        assert.strictEqual(seen.length, 1)
      }))
  }

  live("reports the first refusal of a server that speaks no version", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* overHttp({ version: "2030-01-01" })
      const error = yield* Effect.flip(used(Mcp.http(url)))
      assert.include(String(error), "The server speaks MCP \"2030-01-01\"")
      assert.isBelow(seen.length, 6)
      const wrong = yield* overHttp({ version: "2030-01-01" }, {
        refusedStatus: 404,
        before: (_message, _request, response) => {
          response.writeHead(404).end()
          return true
        }
      })
      yield* Effect.flip(used(Mcp.http(wrong.url)))
      assert.strictEqual(wrong.seen.length, 2)
    }))
})

describe.each(versions)("Mcp.layerServer for a client of %s", (protocol) => {
  live("lists and calls tools over stdio", () =>
    Effect.gen(function*() {
      const shop = bundled(join(import.meta.dirname, "../servers/shop.ts"))
      const connect = Mcp.stdio(ChildProcess.make(process.execPath, [shop], { killSignal: "SIGKILL" }), { protocol })
      const tools = yield* Mcp.tools({ name: "s", connect, trust: "trusted", timeout: "20 seconds" })
      assert.include(tools.map(({ name }) => name), "s_get_order")
      assert.include(yield* call(tools, "get_order", { order: "A-7" }), "A-7")
    }))

  live("lists and calls tools over HTTP", () =>
    Effect.gen(function*() {
      const Ping = AiToolkit.fromTool(AiTool.make("ping", { success: Schema.String }), () => Effect.succeed("pong"))
      const server = McpServer.layerHttp({
        name: "s",
        version: "1",
        path: "/mcp",
        protocols: Mcp.protocols,
        registrations: Mcp.layerServer({ tools: [Ping], defaults: { onError: Recovery.standard } })
      })
      const context = yield* Layer.build(
        HttpRouter.serve(server, { disableLogger: true, disableListenLog: true }).pipe(
          Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
        )
      )
      const { address } = Context.get(context, HttpServer.HttpServer)
      const port = "port" in address ? address.port : 0
      const connect = Mcp.http(`http://127.0.0.1:${port}/mcp`, { protocol })
      const tools = yield* Mcp.tools({ name: "s", connect, trust: "trusted", timeout: "10 seconds" })
      assert.strictEqual(yield* call(tools, "ping"), "pong")
    }))
})

describe("noise on standard output", () => {
  const notification = JSON.stringify({
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "info", data: "}{\"" }
  })
  const noises: Readonly<Record<string, object>> = {
    "lines of text": { noise: ["Starting server v1.2 ...", "", "\u001b[32mready\u001b[0m"] },
    "JSON that is not JSON-RPC": {
      noise: [
        "{\"level\":\"info\"}",
        "[]",
        "[1]",
        "null",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}"
      ]
    },
    "text before a message": { partial: "loading {1/3} ... " },
    "a message in the same line": { partial: notification },
    "text and messages in the same line": { partial: `loading {1/3} ${notification} ${notification}` },
    "answers to requests that were not made": { noise: ["{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}"] }
  }
  for (const [name, options] of Object.entries(noises)) {
    for (const version of ["2025-06-18", "2026-07-28"]) {
      live(`of ${version} is skipped: ${name}`, () =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* used(overStdio({ version, ...options })), [
            "s_read,s_pay",
            `did pay for ${version}`
          ])
        }))
    }
  }
})
