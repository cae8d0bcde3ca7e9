/** Common parts of tests with hand-written servers. */
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"
import { type Tool, ToolCall } from "@recourse/core"
import { Mcp } from "@recourse/mcp"

const services = Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici)

const byHand = fileURLToPath(new URL("../servers/byHand.mjs", import.meta.url))

/** A server by hand as a process. */
export const overStdio = (options: object, connect: Mcp.ConnectOptions = {}) =>
  Mcp.stdio(ChildProcess.make(process.execPath, [byHand, JSON.stringify(options)], { killSignal: "SIGKILL" }), connect)

/** A test of real servers. */
export const live = (name: string, test: () => Effect.Effect<void, unknown, any>) =>
  it.live(name, () => test().pipe(Effect.scoped, Effect.provide(services)) as Effect.Effect<void, unknown>, 30_000)

/** Returns the tool of a name. */
export const named = <T extends { readonly name: string }>(tools: ReadonlyArray<T>, name: string): T =>
  tools.find((tool) => tool.name === `s_${name}`) ?? assert.fail(`${name} of ${tools.map(({ name }) => name).join()}`)

/** Calls a tool, and returns its result. */
export const resultOf = (tools: ReadonlyArray<Tool.Any>, name: string, args: unknown = {}) =>
  (named(tools, name).call as Effect.Effect<
    Mcp.McpResult,
    { readonly _tag: string; readonly reason?: { readonly _tag: string } },
    ToolCall.ToolCall
  >).pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args })))

/** Calls a tool, and returns the text of its result. */
export const call = (tools: ReadonlyArray<Tool.Any>, name: string, args: unknown = {}) =>
  resultOf(tools, name, args).pipe(
    Effect.map(({ content }) => content.map((block) => block.type === "text" ? block.text : "").join())
  )

/** All protocol versions. */
export const versions = Mcp.protocols.map(({ protocolVersion }) => protocolVersion)
