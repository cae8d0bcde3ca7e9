/** The client that the conformance suite runs against its servers: `Mcp.tools`, and a call of each tool. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { ToolCall } from "@recourse/core"
import { Mcp } from "@recourse/mcp"

const url = process.argv.at(-1)!

/** The arguments that a tool of the suite takes. */
const argumentsOf = (name: string): unknown => name.endsWith("add_numbers") ? { a: 5, b: 3 } : {}

Mcp.tools({ name: "conformance", connect: Mcp.http(url), trust: "trusted", timeout: "10 seconds" }).pipe(
  Effect.flatMap(
    Effect.forEach(({ call, name }) =>
      Effect.provideService(call, ToolCall.ToolCall, ToolCall.make({ id: name, arguments: argumentsOf(name) }))
    )
  ),
  Effect.scoped,
  Effect.provide(NodeHttpClient.layerUndici),
  NodeRuntime.runMain
)
