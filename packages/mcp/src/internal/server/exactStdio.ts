/** Exact standard input: calls of clients keep the text of their arguments if parsing changes it. */
import * as JsonText from "@recourse/core/JsonText"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { own } from "../client/messages.ts"

/** The `_meta` field of a call with the text of its arguments. */
export const writtenField = "recourse/written-arguments"

/** Adds the text of its arguments to a call, if parsing changes them. Returns whether it did. */
const addWritten = (message: unknown, line: string, path: ReadonlyArray<number>): boolean => {
  const params = own(message, "params")
  if (own(message, "method") !== "tools/call" || own(params, "arguments") === undefined) return false
  const written = JsonText.argumentsAt(line, [...path, "params", "arguments"])
  if (typeof written !== "string") return false
  Object.assign(params as object, { _meta: { ...own(params, "_meta") as object | undefined, [writtenField]: written } })
  return true
}

/** A line of standard input as effect's server is given it. */
const exactLine = (line: string): string => {
  if (!line.includes("tools/call")) return line
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return line
  }
  const changed = Array.isArray(value)
    ? value.map((message, index) => addWritten(message, line, [index]))
    : [addWritten(value, line, [])]
  return changed.includes(true) ? JSON.stringify(value) : line
}

/**
 * Refuses calls over standard input whose arguments lose digits or a repeated key in parsing, with their field, like
 * servers over HTTP. effect's server parses a line before it calls a tool. Provide this layer to
 * `McpServer.layerStdio`.
 *
 * **Example** (A server over standard input)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { NodeServices } from "@effect/platform-node"
 * import { McpServer } from "effect/ai"
 * import { Mcp } from "@recourse/mcp"
 *
 * export const program = McpServer.layerStdio({
 *   name: "shop",
 *   version: "1.0.0",
 *   protocols: Mcp.protocols,
 *   registrations: Mcp.layerServer({ tools: [] })
 * }).pipe(Layer.provide(Mcp.layerExactStdio), Layer.provide(NodeServices.layer))
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerExactStdio: Layer.Layer<Stdio.Stdio, never, Stdio.Stdio> = Layer.effect(
  Stdio.Stdio,
  Effect.map(Stdio.Stdio, (stdio) => ({
    ...stdio,
    stdin: stdio.stdin.pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.map((line) => `${exactLine(line)}\n`),
      Stream.encodeText
    )
  }))
)
