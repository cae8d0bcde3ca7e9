import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Tool as AiTool } from "effect/ai"
import { Mcp } from "@recourse/mcp"
import { call, live, named, overStdio, versions } from "../support/helpers.ts"
import { overHttp } from "../servers/overHttp.ts"
import { overSse } from "../servers/overSse.ts"

const empty = { type: "object", properties: {} }
const good = [{ name: "first", inputSchema: empty }, { name: "last", inputSchema: empty }]

let deep: unknown = { type: "string" }
for (let level = 0; level < 2_000; level++) deep = { type: "array", items: deep }

/** Tools that are repaired: by the name of their fault, with the fields that are dropped. */
const repaired: Readonly<Record<string, readonly [fields: object, dropped?: string]>> = {
  "no type": [{ inputSchema: { $schema: "https://json-schema.org/draft/2020-12/schema" } }],
  "no input schema": [{}],
  "null as input schema": [{ inputSchema: null }],
  "type as a list": [{ inputSchema: { type: ["object", "null"] } }],
  "null for absent fields": [{
    inputSchema: { ...empty, required: null, description: null },
    description: null,
    title: null,
    annotations: null,
    outputSchema: null,
    _meta: null,
    icons: null
  }],
  "null for absent hints": [{ inputSchema: empty, annotations: { readOnlyHint: null, title: null } }],
  "a list as properties": [{ inputSchema: { type: "object", properties: [] } }],
  "text as required": [{ inputSchema: { ...empty, required: "a" } }],
  "a property that is no schema": [{
    inputSchema: { type: "object", properties: { a: "string", b: { type: "string" } } }
  }],
  "an unknown type in a property": [{ inputSchema: { type: "object", properties: { a: { type: "strng" } } } }],
  "a dangling reference": [{ inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/nowhere" } } } }],
  "composition at the root": [{
    inputSchema: { type: "object", anyOf: [{ required: ["a"] }, { properties: { b: { type: "string" } } }] }
  }],
  "a reference at the root": [{
    inputSchema: {
      $ref: "#/$defs/node",
      $defs: { node: { type: "object", properties: { child: { $ref: "#/$defs/node" } } } }
    }
  }],
  "a root that refers to itself": [{ inputSchema: { type: "object", properties: { child: { $ref: "#" } } } }],
  "a schema that is too deep": [{ inputSchema: { type: "object", properties: { deep } } }],
  "a number as description": [{ inputSchema: empty, description: 7 }, "description"],
  "text as output schema": [{ inputSchema: empty, outputSchema: "text" }, "outputSchema"],
  "a list as annotations": [{ inputSchema: empty, annotations: [] }, "annotations"],
  "text as a hint": [{ inputSchema: empty, annotations: { readOnlyHint: "yes" } }]
}

/** Tools that are left out, with the name that is reported. */
const impossible: Readonly<Record<string, readonly [tool: unknown, name: string]>> = {
  "arguments that are text": [{ name: "bad", inputSchema: { type: "string" } }, "bad"],
  "text as input schema": [{ name: "bad", inputSchema: "text" }, "bad"],
  "false as input schema": [{ name: "bad", inputSchema: false }, "bad"],
  "no name": [{ inputSchema: empty }, "tool 2 of page 1"],
  "an empty name": [{ name: "", inputSchema: empty }, "tool 2 of page 1"],
  "a number as name": [{ name: 7, inputSchema: empty }, "tool 2 of page 1"],
  "null in place of a tool": [null, "tool 2 of page 1"],
  "the name of another tool": [{ name: "first", inputSchema: empty }, "first"],
  "a task": [{ name: "bad", inputSchema: empty, execution: { taskSupport: "required" } }, "bad"]
}

const transports = {
  stdio: (version: string, tools: ReadonlyArray<unknown>) => Effect.succeed(overStdio({ version, tools })),
  HTTP: (version: string, tools: ReadonlyArray<unknown>) =>
    Effect.map(overHttp({ version, tools }), ({ url }) => Mcp.http(url)),
  SSE: (version: string, tools: ReadonlyArray<unknown>) =>
    Effect.map(overSse({ version, tools }), ({ url }) => Mcp.sse(url))
}

const listed = (connect: Mcp.Connect<any>) =>
  Effect.gen(function*() {
    const server = yield* Mcp.connect({ name: "s", connect, trust: "trusted", timeout: "10 seconds" })
    return { tools: yield* server.tools, leftOut: yield* server.leftOut }
  })

describe.each(versions)("a list of %s", (version) => {
  for (const [transport, connect] of Object.entries(transports)) {
    live(`is there over ${transport} without its impossible tools, which are named`, () =>
      Effect.gen(function*() {
        const bad = Object.values(impossible)
        const { leftOut, tools } = yield* listed(
          yield* connect(version, [good[0], ...bad.map(([tool]) => tool), good[1]])
        )
        assert.deepStrictEqual(tools.map(({ name }) => name), ["s_first", "s_last"])
        const unnamed = /^tool \d+ of page 1$/
        assert.deepStrictEqual(
          leftOut.map(({ kind, name }) => [kind, unnamed.test(name) ? "unnamed" : name]),
          bad.map(([, name]) => ["tool", unnamed.test(name) ? "unnamed" : name])
        )
        assert.include(yield* call(tools, "last"), "did last")
      }))
  }

  live("is there with its faulty tools repaired", () =>
    Effect.gen(function*() {
      const faulty = Object.values(repaired).map(([fields], index) => ({ name: `t${index}`, ...fields }))
      const { leftOut, tools } = yield* listed(
        Mcp.http((yield* overHttp({ version, tools: [...good, ...faulty] })).url)
      )
      assert.strictEqual(tools.length, 2 + faulty.length)
      assert.deepStrictEqual(
        leftOut.map(({ kind, name }) => [kind, name]),
        Object.values(repaired).flatMap(([, field], index) =>
          field === undefined ? [] : [["field", `t${index}.${field}`]]
        )
      )
      for (const { name } of faulty) assert.include(yield* call(tools, name), `did ${name}`)
    }))
})

live("a tool with another spelling of its input schema has its parameters", () =>
  Effect.gen(function*() {
    const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] }
    const { url } = yield* overHttp({
      version: "2025-11-25",
      tools: ["inputSchema", "input_schema", "parameters"].map((spelling) => ({ name: spelling, [spelling]: schema }))
    })
    for (const { definition } of (yield* listed(Mcp.http(url))).tools) {
      assert.deepStrictEqual(AiTool.getJsonSchema(definition), schema)
    }
  }))

describe("a faulty tool", () => {
  for (const [fault, [tool, name]] of Object.entries(impossible)) {
    live(`is left out with a reason: ${fault}`, () =>
      Effect.gen(function*() {
        const { url } = yield* overHttp({ version: "2025-11-25", tools: [good[0], tool, good[1]] })
        const { leftOut, tools } = yield* listed(Mcp.http(url))
        assert.deepStrictEqual(tools.map(({ name }) => name), ["s_first", "s_last"])
        assert.deepStrictEqual(leftOut.map((one) => [one.kind, one.name]), [["tool", name]])
        assert.isNotEmpty(leftOut[0]!.reason)
      }))
  }

  live("is no read because of a hint that cannot be read", () =>
    Effect.gen(function*() {
      const tool = { name: "bad", inputSchema: empty, annotations: { readOnlyHint: "yes" } }
      const { url } = yield* overHttp({ version: "2025-11-25", tools: [tool] })
      assert.strictEqual(named((yield* listed(Mcp.http(url))).tools, "bad").effects, "write")
    }))

  live("is left out if the program requires that all keywords are checked", () =>
    Effect.gen(function*() {
      const tool = { name: "bad", inputSchema: { type: "object", not: { required: ["a"] } } }
      const { url } = yield* overHttp({ version: "2025-11-25", tools: [good[0], tool] })
      const server = yield* Mcp.connect({ name: "s", connect: Mcp.http(url), unchecked: [] })
      assert.deepStrictEqual((yield* server.tools).map(({ name }) => name), ["s_first"])
      assert.deepStrictEqual((yield* server.leftOut).map(({ name }) => name), ["bad"])
    }))
})

/** Pages of a list: how the second one fails, and whether it is read again. */
const pages: Readonly<Record<string, readonly [second: object, reads: number]>> = {
  "an error": [{ error: { code: -32603, message: "internal" } }, 2],
  "no list": [{ result: {} }, 2],
  "a list that is none": [{ result: { tools: "none" } }, 2],
  "the same cursor": [{ result: { tools: [], nextCursor: "p2" } }, 1]
}

describe("a page of the list", () => {
  for (const [fault, [second, reads]] of Object.entries(pages)) {
    live(`is left out with those after it, and named: ${fault}`, () =>
      Effect.gen(function*() {
        let read = 0
        const { url } = yield* overHttp({ version: "2025-11-25", tools: good }, {
          before: (message, _request, response) => {
            if (message.method !== "tools/list") return false
            const isSecond = message.params?.["cursor"] === "p2"
            if (isSecond) read++
            const answer = isSecond ? second : { result: { tools: good, nextCursor: "p2" } }
            response.writeHead(200, { "content-type": "application/json" })
            response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer }))
            return true
          }
        })
        const { leftOut, tools } = yield* listed(Mcp.http(url))
        assert.deepStrictEqual(tools.map(({ name }) => name), ["s_first", "s_last"])
        assert.deepStrictEqual(leftOut.map(({ kind }) => kind), ["page"])
        assert.strictEqual(read, reads)
      }))
  }

  live("that is the first fails the list", () =>
    Effect.gen(function*() {
      const { url } = yield* overHttp({ version: "2025-11-25" }, {
        before: (message, _request, response) => {
          if (message.method !== "tools/list") return false
          response.writeHead(200, { "content-type": "application/json" })
          response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error: { code: -32603, message: "no" } }))
          return true
        }
      })
      assert.strictEqual((yield* Effect.flip(listed(Mcp.http(url))))._tag, "McpClientError")
    }))
})

describe("output that is not JSON-RPC", () => {
  live("is counted", () =>
    Effect.gen(function*() {
      const { leftOut, tools } = yield* listed(overStdio({ version: "2025-11-25", noise: ["hello", "hello"] }))
      assert.strictEqual(tools.length, 2)
      assert.deepStrictEqual(leftOut.map(({ kind }) => kind), ["output"])
    }))
})
