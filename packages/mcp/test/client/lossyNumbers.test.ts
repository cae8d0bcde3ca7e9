/** Numbers whose digits do not survive parsing, in calls of clients and in calls of servers: no tool runs with another number. */
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Queue, Schema, type Scope, Sink, Stdio, Stream } from "effect"
import { LanguageModel, McpServer, McpTest } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { ScriptedModel } from "@recourse/testing"
import { live, overStdio } from "../support/helpers.ts"
import { overHttp } from "../servers/overHttp.ts"
import { overSse } from "../servers/overSse.ts"

/** A server over HTTP whose tool notes the arguments that it is executed with. */
const served = Effect.gen(function*() {
  const ran: Array<unknown> = []
  const Pay = Tool.make("pay", {
    parameters: Schema.Struct({ to: Schema.Unknown, amount: Schema.Number }),
    success: Schema.String,
    effects: "write",
    execute: (args) => Effect.sync(() => (ran.push(args), "paid"))
  })
  const registrations = Mcp.layerServer({ tools: [Pay], defaults: { onError: Recovery.standard } })
  /** Sends the lines to a server over standard input in pieces of 7 bytes; returns the lines of its answers. */
  const overStandardInput = (lines: ReadonlyArray<string>, exact = Mcp.layerExactStdio) =>
    Effect.gen(function*() {
      const [input, output] = [yield* Queue.unbounded<Uint8Array>(), yield* Queue.unbounded<string>()]
      const decoder = new TextDecoder()
      const stdio = Stdio.layerTest({
        stdin: Stream.fromQueue(input),
        stdout: () =>
          Sink.forEach((chunk: string | Uint8Array) =>
            Queue.offer(output, typeof chunk === "string" ? chunk : decoder.decode(chunk))
          )
      })
      const server = McpServer.layerStdio({ name: "bank", version: "1.0.0", protocols: Mcp.protocols, registrations })
      yield* Effect.forkScoped(Layer.launch(server.pipe(Layer.provide(exact), Layer.provide(stdio))))
      const answers: Array<string> = []
      for (const line of lines) {
        const bytes = new TextEncoder().encode(`${line}\n`)
        for (let at = 0; at < bytes.length; at += 7) yield* Queue.offer(input, bytes.slice(at, at + 7))
        if (line.includes(`"id"`)) answers.push(yield* Queue.take(output))
      }
      return answers
    }).pipe(Effect.scoped)
  const server = McpServer.layerHttp({
    name: "bank",
    version: "1.0.0",
    path: "/mcp",
    protocols: Mcp.protocols,
    registrations
  })
  const context = yield* Layer.build(
    HttpRouter.serve(server, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" }))
    )
  )
  const { address } = yield* Effect.provide(HttpServer.HttpServer, context)
  return { ran, registrations, overStandardInput, url: `http://127.0.0.1:${"port" in address ? address.port : 0}/mcp` }
})

/** Sends a body as it is written. */
const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body
    })
    return { session: response.headers.get("mcp-session-id") ?? "", text: await response.text() }
  })

const initialize = (version: string) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "raw", version: "1" } }
  })

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

/** Starts a session; returns the headers of its requests. */
const session = (url: string, version: string) =>
  Effect.gen(function*() {
    const { session } = yield* post(url, initialize(version))
    const headers = { "mcp-protocol-version": version, "mcp-session-id": session }
    yield* post(url, initialized, headers)
    return headers
  })

const callOf = (id: number, args: string) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"pay","arguments":${args}}}`

const modern = (args: string) =>
  callOf(1, args).replace(
    `"name":"pay"`,
    `"name":"pay","_meta":${
      JSON.stringify({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
      })
    }`
  )

const modernHeaders = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "pay" }

/** Arguments that parsing changes, and the field that is named. */
const lossy: Readonly<Record<string, readonly [string, string]>> = {
  "a whole number": [`{"to":2512292042121000001,"amount":1}`, "to"],
  "a decimal number": [`{"to":"a","amount":0.12345678901234567891}`, "amount"],
  "a number below another field": [`{"to":{"ids":[1,{"id":1234567890123456789012345}]},"amount":1}`, "to.ids.1.id"]
}

const refused = (text: string, field: string) => {
  assert.include(text, "invalid_arguments")
  assert.include(text, `${field}: expected a number that keeps all its digits`)
  assert.include(text, "Send it as a string")
}

describe("a client's call with a number that parsing changes, over HTTP", () => {
  for (const [title, [args, field]] of Object.entries(lossy)) {
    it.live(`is refused with its field: ${title}`, () =>
      Effect.gen(function*() {
        const { ran, url } = yield* served
        refused((yield* post(url, callOf(1, args), yield* session(url, "2025-11-25"))).text, field)
        refused((yield* post(url, modern(args), modernHeaders)).text, field)
        assert.deepStrictEqual(ran, [])
      }).pipe(Effect.scoped), 30_000)
  }

  it.live("is refused alone in a batch", () =>
    Effect.gen(function*() {
      const { ran, url } = yield* served
      const exact = `{"to":"a","amount":0.5}`
      const headers = yield* session(url, "2025-03-26")
      const [, [args, field]] = Object.entries(lossy)[1]!
      const { text } = yield* post(url, `[${callOf(1, exact)},${callOf(2, args)}]`, headers)
      refused(text, field)
      assert.deepStrictEqual(ran, [{ to: "a", amount: 0.5 }])
    }).pipe(Effect.scoped), 30_000)

  it.live("is executed with numbers that keep their digits", () =>
    Effect.gen(function*() {
      const { ran, url } = yield* served
      const headers = yield* session(url, "2025-11-25")
      yield* post(url, callOf(1, `{"to":"2512292042121000001","amount":1.50}`), headers)
      yield* post(url, modern(`{"to":9007199254740991,"amount":1e3}`), modernHeaders)
      assert.deepStrictEqual(ran, [{ to: "2512292042121000001", amount: 1.5 }, { to: 9007199254740991, amount: 1000 }])
    }).pipe(Effect.scoped), 30_000)
})

describe("a client's call with a number that parsing changes, over standard input", () => {
  for (const [title, [args, field]] of Object.entries(lossy)) {
    it.live(`is refused with its field: ${title}`, () =>
      Effect.gen(function*() {
        const { overStandardInput, ran } = yield* served
        const [, first] = yield* overStandardInput([initialize("2025-11-25"), initialized, callOf(1, args)])
        refused(first!, field)
        refused((yield* overStandardInput([modern(args)]))[0]!, field)
        assert.deepStrictEqual(ran, [])
      }).pipe(Effect.scoped), 30_000)
  }

  it.live("is refused for a duplicate key", () =>
    Effect.gen(function*() {
      const { overStandardInput, ran } = yield* served
      const twice = callOf(1, `{"to":"a","amount":1,"amount":2}`)
      const [, answer] = yield* overStandardInput([initialize("2025-11-25"), initialized, twice])
      assert.include(answer, "invalid_arguments")
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.scoped), 30_000)

  it.live("is executed with numbers that keep their digits", () =>
    Effect.gen(function*() {
      const { overStandardInput, ran } = yield* served
      const exact = callOf(1, `{"to":"2512292042121000001","amount":1.50}`)
      yield* overStandardInput([initialize("2025-11-25"), initialized, exact])
      assert.deepStrictEqual(ran, [{ to: "2512292042121000001", amount: 1.5 }])
    }).pipe(Effect.scoped), 30_000)

  it.live("arrives rounded without the layer that keeps its text", () =>
    Effect.gen(function*() {
      const { overStandardInput, ran } = yield* served
      const lines = [initialize("2025-11-25"), initialized, callOf(1, `{"to":"a","amount":0.12345678901234567891}`)]
      yield* overStandardInput(lines, Layer.effect(Stdio.Stdio, Stdio.Stdio))
      assert.deepStrictEqual(ran, [{ to: "a", amount: 0.12345678901234568 }])
    }).pipe(Effect.scoped), 30_000)
})

describe("a client's call whose text effect has parsed", () => {
  it.effect("is refused for a whole number beyond those that doubles count", () =>
    Effect.gen(function*() {
      const { ran, registrations } = yield* served
      const client = yield* McpTest.makeClient(registrations, { protocols: Mcp.protocols })
      const { content, isError } = yield* client.callTool({
        name: "pay",
        arguments: { to: Number("2512292042121000001"), amount: 1 }
      })
      assert.isTrue(isError)
      refused(JSON.stringify(content), "to")
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.scoped))
})

describe("a call of a server's tool with a number that parsing changes", () => {
  live("is refused before it is sent", () =>
    Effect.gen(function*() {
      const tools = yield* Mcp.tools({ name: "s", connect: overStdio({ version: "2025-11-25" }) })
      const name = tools[0]!.name
      const { model, script } = yield* ScriptedModel.make([
        ScriptedModel.call(name, `{"extra":0.12345678901234567891}` as never),
        ScriptedModel.text("done")
      ])
      yield* Agent.make("a", { tools, defaults: { onError: Recovery.keepGoing } }).run("go").pipe(
        Effect.provideService(LanguageModel.LanguageModel, model)
      )
      refused(JSON.stringify(yield* script.lastRequest), "extra")
    }))
})

describe("a structured result with a number that parsing changes", () => {
  const tool = (name: string, outputSchema?: unknown) => ({
    name,
    inputSchema: { type: "object", properties: {} },
    annotations: { readOnlyHint: true },
    ...(outputSchema === undefined ? undefined : { outputSchema })
  })
  const rowsOf = (id: unknown) => ({
    type: "object",
    properties: { rows: { type: "array", items: { type: "object", properties: { id } } } },
    required: ["rows"]
  })
  const options = {
    version: "2025-11-25",
    tools: [tool("any"), tool("text", rowsOf({ type: "string" })), tool("whole", rowsOf({ type: "integer" }))],
    structured: { rows: [{ id: "@2512292042121000001@", total: "@0.1000000000000000055511151231257827@" }] }
  }
  const transports: Readonly<
    Record<string, Effect.Effect<ReturnType<typeof overStdio> | ReturnType<typeof Mcp.http>, never, Scope.Scope>>
  > = {
    "standard input": Effect.succeed(overStdio(options)),
    "HTTP, as JSON": Effect.map(overHttp(options), ({ url }) => Mcp.http(url)),
    "HTTP, as events": Effect.map(overHttp(options, { streams: true }), ({ url }) => Mcp.http(url)),
    "HTTP with SSE": Effect.map(overSse(options), ({ url }) => Mcp.sse(url))
  }
  const exact = { rows: [{ id: "2512292042121000001", total: 0.1 }] }

  for (const [title, connect] of Object.entries(transports)) {
    live(`has its digits as text, or is refused with its field: ${title}`, () =>
      Effect.gen(function*() {
        const tools = yield* Mcp.tools({ name: "s", connect: (yield* connect) as Mcp.Connect<never>, trust: "trusted" })
        const run = (name: string) => {
          const found = tools.find((one) => one.name === `s_${name}`) ?? assert.fail(name)
          return found.call.pipe(
            Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} }))
          )
        }
        assert.deepStrictEqual((yield* run("any")).structuredContent, exact)
        assert.deepStrictEqual((yield* run("text")).structuredContent, exact)
        const error = yield* Effect.flip(run("whole"))
        assert.strictEqual(error._tag, "InvalidResult")
        assert.include(JSON.stringify(error), `["structuredContent","rows",0,"id"]`)

        const { model, script } = yield* ScriptedModel.make([
          ScriptedModel.call("s_any", {}),
          ScriptedModel.text("done")
        ])
        yield* Agent.make("a", { tools, defaults: { onError: Recovery.keepGoing } }).run("go").pipe(
          Effect.provideService(LanguageModel.LanguageModel, model)
        )
        assert.include(JSON.stringify(yield* script.lastRequest), "2512292042121000001")
      }))
  }
})
