/** The tools that the conformance suite calls, served over HTTP by `Mcp.layerServer`, on the port that the first argument names. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Logger, Schedule, Schema } from "effect"
import { McpServer, Prompt, Tool as AiTool } from "effect/ai"
import { HttpRouter } from "effect/http"
import { createServer } from "node:http"
import { AiToolkit, Recovery, Tool } from "@recourse/core"
import { Mcp } from "@recourse/mcp"

const png = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
  (char) => char.charCodeAt(0)
)

const text = (value: string) => Prompt.textPart({ text: value })
const file = (mediaType: string, data: Uint8Array) => Prompt.filePart({ mediaType, data })

/** A tool whose result is shown in parts. */
const parts = (name: string, shown: ReadonlyArray<Prompt.ToolModelOutputPart>) =>
  AiToolkit.fromTool(
    AiTool.make(name, { description: `Answers with ${name}`, success: Schema.String, toModelOutput: () => shown }),
    () => Effect.succeed(name),
    { effects: "read" }
  )

/** A read that succeeds with its third attempt: each attempt is progress. */
const withProgress = () => {
  let attempts = 0
  return Tool.make("test_tool_with_progress", {
    description: "Succeeds with its third attempt",
    success: Schema.String,
    effects: "read",
    execute: () =>
      Effect.suspend(() => ++attempts % 3 === 0 ? Effect.succeed("done") : Effect.fail(new Error("not yet")))
  }).pipe(Tool.onError((call) => call.pipe(Recovery.retry({ times: 3, schedule: Schedule.spaced("20 millis") }))))
}

const tools = [
  Tool.make("test_simple_text", {
    description: "Answers with a text",
    success: Schema.String,
    effects: "read",
    execute: () => Effect.succeed("This is a simple text response for testing.")
  }),
  parts("test_image_content", [file("image/png", png)]),
  parts("test_audio_content", [file("audio/wav", new Uint8Array(44))]),
  parts("test_embedded_resource", [file("application/octet-stream", new Uint8Array([1, 2, 3]))]),
  parts("test_multiple_content_types", [
    text("Several parts"),
    file("image/png", png),
    file("text/csv", new Uint8Array([49]))
  ]),
  Tool.make("test_error_handling", {
    description: "Fails",
    effects: "read",
    execute: () => Effect.fail(new Error("This tool fails"))
  }),
  withProgress(),
  Tool.make("test_elicitation", {
    description: "Needs an approval",
    parameters: Schema.Struct({ message: Schema.String }),
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: ({ message }) => Effect.succeed(`allowed: ${message}`)
  }),
  Tool.fromJsonSchema("json_schema_2020_12_tool", {
    description: "Has a JSON Schema of draft 2020-12",
    parameters: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } }
      },
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
      additionalProperties: false
    },
    success: Schema.Unknown,
    effects: "read",
    execute: (args) => Effect.succeed(args)
  })
]

const port = Number(process.argv[2])

const server = McpServer.layerHttp({
  name: "recourse",
  version: "0.1.0",
  path: "/mcp",
  protocols: Mcp.protocols,
  allowedOrigins: [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
  registrations: Mcp.layerServer({ tools })
})

HttpRouter.serve(server, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" })),
  Layer.provide(Layer.succeed(Logger.LogToStderr, true)),
  Layer.launch,
  NodeRuntime.runMain
)
