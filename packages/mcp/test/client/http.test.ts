import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Agent, ConfigurationError, type Tool, ToolCall } from "@recourse/core"
import { Mcp } from "@recourse/mcp"

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string }
}

type Answer = (response: ServerResponse, message: Message, request: IncomingMessage) => void

const json = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}, status = 200) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

const result = (message: Message, value: unknown) => ({ jsonrpc: "2.0", id: message.id, result: value })

const empty = { type: "object", properties: {} }
const listed = [
  { name: "read", inputSchema: empty, annotations: { readOnlyHint: true } },
  { name: "pay", inputSchema: empty, annotations: { destructiveHint: true } },
  {
    name: "count",
    inputSchema: empty,
    outputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    annotations: { readOnlyHint: true }
  }
]

/** A hand-written server, which answers `tools/call` as configured, once for each entry, and then normally. */
const serverOf = (answers: Array<Answer>, version = "2025-11-25") =>
  Effect.gen(function*() {
    const heard: Array<string> = []
    let sessions = 0
    let tools = listed
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((request, response) => {
          let body = ""
          request.on("data", (chunk: unknown) => body += String(chunk))
          request.on("end", () => {
            const message = (body === "" ? { method: "" } : JSON.parse(body)) as Message
            heard.push(message.params?.name ?? message.method)
            switch (message.method) {
              case "initialize":
                return json(
                  response,
                  result(message, {
                    protocolVersion: version,
                    capabilities: { tools: {} },
                    serverInfo: { name: "by hand", version: "1" }
                  }),
                  { "mcp-session-id": `session-${++sessions}` }
                )
              case "tools/list":
                return json(response, result(message, { tools }))
              case "tools/call": {
                const answer = answers.shift()
                return answer === undefined
                  ? json(
                    response,
                    result(message, { content: [{ type: "text", text: String(request.headers["mcp-session-id"]) }] })
                  )
                  : answer(response, message, request)
              }
              default:
                return response.writeHead(202).end()
            }
          })
        }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return {
      heard,
      server,
      connect: Mcp.http(`http://127.0.0.1:${port}/mcp`),
      change: (next: typeof listed) => {
        tools = next
      }
    }
  })

const run = (tool: Tool.Any) =>
  (tool.call as Effect.Effect<Mcp.McpResult, { readonly _tag: string; readonly reason?: unknown }, ToolCall.ToolCall>)
    .pipe(
      Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} }))
    )

const failure = (tool: Tool.Any) =>
  Effect.map(Effect.flip(run(tool)), ({ _tag, reason }) => ({ tag: _tag, reason: reason as Record<string, unknown> }))

const named = <T extends { readonly name: string }>(tools: ReadonlyArray<T>, name: string): T =>
  tools.find((tool) => tool.name === name) ?? assert.fail(`${name} of ${tools.map(({ name }) => name).join()}`)

const toolsOf = (connect: Mcp.Connect<never> | ReturnType<typeof Mcp.http>) =>
  Mcp.tools({ name: "s", connect, toolErrors: "fail", trust: "trusted", timeout: "5 seconds" })

const status = (code: number, headers: Record<string, string> = {}): Answer => (response) =>
  void response.writeHead(code, headers).end()

const live = (name: string, test: () => Effect.Effect<void, unknown, any>) =>
  it.live(
    name,
    () => test().pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)) as Effect.Effect<void, unknown>,
    30_000
  )

describe("a server over HTTP on bad days", () => {
  live("401, 403 and 429 say who was refused and until when; a write was not done", () =>
    Effect.gen(function*() {
      const { connect } = yield* serverOf([status(401), status(403), status(429, { "retry-after": "7" }), status(429)])
      const tools = yield* toolsOf(connect)
      for (const code of [401, 403]) {
        const { reason, tag } = yield* failure(named(tools, "s_pay"))
        assert.deepStrictEqual([tag, reason._tag, reason.status], ["ExecutionError", "McpUnauthorized", code])
      }
      const limited = yield* failure(named(tools, "s_pay"))
      assert.deepStrictEqual([limited.tag, limited.reason._tag], ["ExecutionError", "McpRateLimited"])
      assert.include(JSON.stringify(limited.reason.retryAfter), "7000")
      assert.isUndefined((yield* failure(named(tools, "s_pay"))).reason.retryAfter)
    }))

  /** A server's answer to a call, and the error and the outcome of a write that the guide names for it. */
  const rows: ReadonlyArray<readonly [answer: number, error: string, outcome: string]> = [
    [-32_602, "McpInvalidArgs", "ExecutionError"],
    [-32_601, "McpRequestRefused", "ExecutionError"],
    [-32_600, "McpRequestRefused", "ExecutionError"],
    [-32_700, "McpRequestRefused", "ExecutionError"],
    [-32_603, "McpProtocolError", "OutcomeUnknown"],
    [-32_000, "McpProtocolError", "OutcomeUnknown"],
    [-32_001, "McpServerTimeout", "OutcomeUnknown"],
    [401, "McpUnauthorized", "ExecutionError"],
    [403, "McpUnauthorized", "ExecutionError"],
    [408, "McpServerTimeout", "OutcomeUnknown"],
    [418, "McpProtocolError", "OutcomeUnknown"],
    [429, "McpRateLimited", "ExecutionError"],
    [500, "McpProtocolError", "OutcomeUnknown"],
    [504, "McpServerTimeout", "OutcomeUnknown"]
  ]

  for (const [code, error, outcome] of rows) {
    for (const http of code > 0 ? [code] : [200, 400, 422, 500]) {
      live(
        `a write that is answered with ${[...new Set([code, http])].join()} is ${error}: ${outcome}`,
        () =>
          Effect.gen(function*() {
            const { connect } = yield* serverOf([
              code > 0
                ? status(code)
                : (response, { id }) =>
                  void json(response, { jsonrpc: "2.0", id, error: { code, message: "no" } }, {}, http)
            ])
            const { reason, tag } = yield* failure(named(yield* toolsOf(connect), "s_pay"))
            assert.deepStrictEqual([reason._tag, tag], [error, outcome])
          })
      )
    }
  }

  live("a connection that breaks in the middle of a call: nobody knows of the write", () =>
    Effect.gen(function*() {
      const { connect, heard } = yield* serverOf([(response) => void response.destroy()])
      const tools = yield* toolsOf(connect)
      const { reason, tag } = yield* failure(named(tools, "s_pay"))
      assert.deepStrictEqual([tag, reason._tag], ["OutcomeUnknown", "McpResponseLost"])
      assert.deepStrictEqual(heard.filter((what) => what === "pay").length, 1)
    }))

  live(
    "an answer to another request, a page and a result that does not fit are no results",
    () =>
      Effect.gen(function*() {
        const { connect } = yield* serverOf([
          (response, message) => void json(response, { ...result(message, { content: [] }), id: 999_999 }),
          (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<h1>Sign in</h1>"),
          (response, message) => void json(response, result(message, { content: [], structuredContent: { n: "one" } })),
          (response, message) => void json(response, result(message, { content: [] }))
        ])
        const tools = yield* toolsOf(connect)
        const tags: Array<string> = []
        for (const name of ["s_pay", "s_pay", "s_count", "s_count"]) tags.push((yield* failure(named(tools, name))).tag)
        assert.deepStrictEqual(tags, ["OutcomeUnknown", "OutcomeUnknown", "InvalidResult", "InvalidResult"])
      })
  )

  live("a huge result is whole for the program", () =>
    Effect.gen(function*() {
      const text = "x".repeat(3_000_000)
      const { connect } = yield* serverOf([
        (response, message) => void json(response, result(message, { content: [{ type: "text", text }] }))
      ])
      const { content } = yield* run(named(yield* toolsOf(connect), "s_read"))
      assert.strictEqual(content[0]?.type === "text" ? content[0].text.length : 0, text.length)
    }))

  live("a server that speaks a newer protocol cannot be connected to", () =>
    Effect.gen(function*() {
      const { connect } = yield* serverOf([], "2027-01-01")
      const error = yield* Effect.flip(toolsOf(connect))
      assert.include(["McpClientError", "McpServerGone"], error._tag)
    }))

  live(
    "two servers may have the same tool, if they have two names; a list that changed is listed between runs",
    () =>
      Effect.gen(function*() {
        const one = yield* serverOf([])
        const two = yield* serverOf([])
        const first = yield* Mcp.connect({ name: "one", connect: one.connect })
        const second = yield* Mcp.tools({ name: "two", connect: two.connect })
        const both = [...yield* first.tools, ...second]
        assert.doesNotThrow(() => Agent.make("a", { tools: both }))
        const clash = yield* Mcp.tools({ name: "one", connect: two.connect })
        const tools = [...yield* first.tools, ...clash]
        assert.throws(() => Agent.make("a", { tools }), ConfigurationError.ConfigurationError)
        one.change([...listed, { name: "new", inputSchema: empty, annotations: { readOnlyHint: true } }])
        assert.deepStrictEqual((yield* first.tools).map(({ name }) => name), [
          "one_read",
          "one_pay",
          "one_count",
          "one_new"
        ])
      })
  )
})
