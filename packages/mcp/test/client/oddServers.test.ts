/** Servers that depart from the protocol in their results, handshakes and messages: what they say is not lost. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { HttpClient } from "effect/http"
import { ChildProcess, type ChildProcessSpawner } from "effect/process"
import { ErrorProjection } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { call, live, overStdio, resultOf, versions } from "../support/helpers.ts"
import { type Options, spellings, unnamed } from "../servers/byHand.mjs"
import { overHttp } from "../servers/overHttp.ts"
import { overSse } from "../servers/overSse.ts"

const seen = { type: "text", text: "seen" }
const png = "iVBORw0KGgo="

/** Results by the name of their fault, with the blocks that come out: the type of each, or the text of a text. */
const results: Readonly<Record<string, readonly [result: unknown, blocks: ReadonlyArray<string>]>> = {
  "no field": [{}, []],
  "no field of its own": [{ _meta: { took: 3 } }, []],
  "the field of the first version": [{ toolResult: { n: 1 } }, [`{"n":1}`]],
  "an unknown field only": [{ answer: "seen" }, ["seen"]],
  "no content": [{ structuredContent: { n: 1 } }, []],
  "a structured list": [{ structuredContent: [1], content: [seen] }, ["seen"]],
  "structured text": [{ structuredContent: "1", content: [seen] }, ["seen"]],
  "null as content": [{ content: null, structuredContent: { n: 1 } }, []],
  "text as content": [{ content: "seen" }, ["seen"]],
  "a block as content": [{ content: seen }, ["seen"]],
  "text as a block": [{ content: ["seen"] }, ["seen"]],
  "null as a block": [{ content: [null, seen] }, ["seen"]],
  "an unknown kind of block": [{ content: [{ type: "video", data: "AAAA" }, seen] }, [
    `{"type":"video","data":"AAAA"}`,
    "seen"
  ]],
  "long bytes that cannot be read": [{ content: [{ type: "video", data: "A".repeat(1_000) }] }, [
    `{"type":"video","data":"1000 characters of base64"}`
  ]],
  "null for absent fields": [{ content: [{ ...seen, annotations: null, _meta: null }], _meta: null }, ["seen"]],
  "annotations that cannot be read": [{ content: [{ ...seen, annotations: { audience: "all" } }] }, ["seen"]],
  "a number as text": [{ content: [{ type: "text", text: 42 }] }, ["42"]],
  "an object as text": [{ content: [{ type: "text", text: { a: 1 } }] }, [`{"a":1}`]],
  "a data URL as bytes": [{ content: [{ type: "image", data: `data:image/png;base64,${png}` }] }, ["image"]],
  "bytes without padding": [{ content: [{ type: "image", data: png.slice(0, -1), mimeType: "image/png" }] }, ["image"]],
  "bytes in lines": [{
    content: [{ type: "image", data: `${png.slice(0, 4)}\n${png.slice(4)}`, mimeType: "image/png" }]
  }, [
    "image"
  ]],
  "no media type": [{ content: [{ type: "audio", data: png }] }, ["audio"]],
  "bytes that are none": [{ content: [{ type: "image", data: "@@", mimeType: "image/png" }, seen] }, [
    `{"type":"image","data":"@@","mimeType":"image/png"}`,
    "seen"
  ]],
  "a link without a name": [{ content: [{ type: "resource_link", uri: "file:///a" }] }, ["resource_link"]],
  "a resource with null fields": [{
    content: [{ type: "resource", resource: { uri: "file:///a", mimeType: null, text: "seen" } }]
  }, ["resource"]],
  "another spelling of isError": [{ content: [seen], is_error: false }, ["seen"]],
  "text as isError": [{ content: [seen], isError: "false" }, ["seen"]],
  "text only": ["seen", ["seen"]],
  "a list of blocks only": [[seen, seen], ["seen", "seen"]],
  "a number only": [7, ["7"]],
  "nothing": [null, []]
}

/** Fields of handshakes that are not of the protocol. */
const handshakes: Readonly<Record<string, object>> = {
  "no capabilities": { capabilities: {} },
  "null as capabilities": { capabilities: null },
  "null for absent fields": {
    instructions: null,
    _meta: null,
    capabilities: { tools: { listChanged: null }, prompts: null, experimental: null }
  },
  "values that are no objects": { capabilities: { tools: true, logging: [], resources: false } },
  "no server info": { serverInfo: null },
  "a server info without a version": { serverInfo: { name: "odd" } }
}

const tools = (connect: Mcp.Connect<ChildProcessSpawner.ChildProcessSpawner | HttpClient.HttpClient>) =>
  Mcp.tools({ name: "s", connect, trust: "trusted", timeout: "10 seconds" })

const over = {
  stdio: (options: Options) => Effect.succeed(overStdio(options)),
  HTTP: (options: Options) => Effect.map(overHttp(options), ({ url }) => Mcp.http(url))
}

describe.each(versions)("a result of %s", (version) => {
  for (const [fault, [result, blocks]] of Object.entries(results)) {
    live(`with ${fault} is read`, () =>
      Effect.gen(function*() {
        const { content } = yield* resultOf(yield* tools(yield* over.HTTP({ version, result })), "read")
        const read = content.map((block) => block.type === "text" ? block.text : block.type)
        // Versions without a kind of block have another one for it.
        const others: Readonly<Record<string, string>> = {
          audio: version < "2025-03-26" ? "resource" : "audio",
          resource_link: version < "2025-06-18" ? "file:///a: file:///a" : "resource_link"
        }
        assert.deepStrictEqual(read, blocks.map((block) => others[block] ?? block))
      }))
  }
})

describe.each(versions)("a handshake of %s", (version) => {
  for (const [fault, handshake] of Object.entries(handshakes)) {
    for (const [transport, connect] of Object.entries(over)) {
      live(`with ${fault} is read over ${transport}`, () =>
        Effect.gen(function*() {
          const listed = yield* tools(yield* connect({ version, handshake }))
          assert.include(yield* call(listed, "read"), "did read")
        }))
    }
  }

  live("without tools has none if the list is refused", () =>
    Effect.gen(function*() {
      const connect = yield* over.HTTP({ version, handshake: { capabilities: {} }, listRefused: true })
      assert.deepStrictEqual(yield* tools(connect), [])
    }))

  live("with tools fails if the list is refused", () =>
    Effect.gen(function*() {
      yield* Effect.flip(tools(yield* over.HTTP({ version, listRefused: true })))
    }))
})

/** The spellings of an error, with the error of the call. */
const errors: Readonly<Record<string, string>> = {
  "text as its error": "McpProtocolError",
  "no code of its error": "McpProtocolError",
  "a word as its code": "McpProtocolError",
  "its code as text": "McpRequestRefused"
}

describe.each(Object.entries(over))("a response over %s", (_, connect) => {
  for (const spelling of Object.keys(spellings)) {
    live(`with ${spelling} is read`, () =>
      Effect.gen(function*() {
        const listed = yield* tools(yield* connect({ version: "2025-06-18", spelling }))
        const outcome = yield* resultOf(listed, "read").pipe(
          Effect.match({
            onFailure: ({ _tag, reason }) => reason?._tag ?? _tag,
            onSuccess: ({ content }) => content.length
          })
        )
        assert.strictEqual(outcome, errors[spelling] ?? 1)
      }))
  }
})

describe("a response to a request of HTTP", () => {
  for (const spelling of Object.keys(unnamed)) {
    for (const streams of [false, true]) {
      live(`with ${spelling} is read ${streams ? "from a stream" : "from a body"}`, () =>
        Effect.gen(function*() {
          const { url } = yield* overHttp({ version: "2025-06-18", spelling }, { streams })
          assert.include(yield* call(yield* tools(Mcp.http(url)), "read"), "did read")
        }))
    }
  }

  live("without the blank line behind its event is read, unless it is cut off", () =>
    Effect.gen(function*() {
      let isCut = false
      const { url } = yield* overHttp({ version: "2025-06-18" }, {
        before: (message, _, response) => {
          if (message.method !== "tools/call") return false
          const text = JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { content: [seen] } })
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.end(`id: 1\ndata: ${isCut ? text.slice(0, -5) : text}`)
          return true
        }
      })
      const listed = yield* tools(Mcp.http(url))
      assert.strictEqual(yield* call(listed, "read"), "seen")
      isCut = true
      assert.strictEqual((yield* Effect.flip(call(listed, "read"))).reason?._tag, "McpResponseLost")
    }))

  live("with another spelling of `isError` is the error with its structured content", () =>
    Effect.gen(function*() {
      for (const flag of ["isError", "is_error"]) {
        const result = { [flag]: true, content: [], structuredContent: { problem: "no such city" } }
        const { url } = yield* overHttp({ version: "2025-06-18", result })
        const listed = yield* Mcp.tools({ name: "s", connect: Mcp.http(url), toolErrors: "fail" })
        const error = yield* Effect.flip(resultOf(listed, "read"))
        assert.strictEqual(error.reason?._tag, "McpToolError")
        assert.include((yield* ErrorProjection.forModel(error, "t")).message_for_model, "no such city")
      }
    }))
})

describe("a process that ends behind its response", () => {
  live("has answered, also without an end of line", () =>
    Effect.gen(function*() {
      const listed = yield* tools(overStdio({ version: "2025-06-18", leaves: true }))
      assert.include(yield* call(listed, "pay"), "did pay")
    }))
})

describe("a server of HTTP with SSE", () => {
  live("is reached by its address alone", () =>
    Effect.gen(function*() {
      const { url } = yield* overSse({ version: "2024-11-05" })
      assert.include(yield* call(yield* tools(Mcp.http(url)), "read"), "did read")
    }))

  live("is not tried if the program names another version", () =>
    Effect.gen(function*() {
      const { url } = yield* overSse({ version: "2024-11-05" })
      const error = yield* Effect.flip(tools(Mcp.http(url, { protocol: "2025-06-18" })))
      assert.include(String(error.message), "404")
    }))

  live("that is none fails with the refusal of the first request", () =>
    Effect.gen(function*() {
      const { url } = yield* overSse({ version: "2024-11-05" })
      const error = yield* Effect.flip(tools(Mcp.http(url.replace("/sse", "/nothing"))))
      assert.include(String(error.message), "404")
    }))
})

describe("a process that ends at its start", () => {
  const ending = (code: string) => Mcp.stdio(ChildProcess.make(process.execPath, ["-e", code]))

  live("is reported with the end of its standard error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(tools(ending(`console.error("API_TOKEN is not set"); process.exit(1)`)))
      assert.include(String(error.message), "API_TOKEN is not set")
    }))

  live("is reported without words if it had none", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(tools(ending("process.exit(1)")))
      assert.notInclude(String(error.message), "standard error")
    }))
})
