/** Protocol versions of MCP, and effect's adapters for them. */
import type * as McpClient from "effect/ai/McpClient"
import * as McpProtocol from "effect/ai/McpProtocol"

/**
 * All protocol versions, for `protocols` of `McpServer.layerStdio` and `McpServer.layerHttp`. A client that asks for an unknown
 * version is answered with the first one, so the newest version with sessions comes first.
 *
 * ```ts
 * import { Mcp } from "@recourse/mcp"
 *
 * Mcp.protocols.map(({ protocolVersion }) => protocolVersion)
 * // => ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2026-07-28"]
 * ```
 *
 * @category constants
 * @since 0.2.0
 */
export const protocols = [
  McpProtocol.v2025_11_25,
  McpProtocol.v2025_06_18,
  McpProtocol.v2025_03_26,
  McpProtocol.v2024_11_05,
  McpProtocol.v2026_07_28
] as const

/**
 * A protocol version that a server can be reached in.
 *
 * @category models
 * @since 0.2.0
 */
export type ProtocolVersion = McpProtocol.ProtocolVersion

/** The version that has no sessions, and is discovered. */
export const stateless = "2026-07-28"

/** Versions that begin with `initialize`, the newest first. */
export const stateful: ReadonlyArray<ProtocolVersion> = protocols
  .map(({ protocolVersion }) => protocolVersion)
  .filter((version) => version !== stateless)

/** effect's client accepts each adapter. Its type names two versions. */
export type Adapter = McpProtocol.ProtocolAdapter<McpClient.ProtocolVersion>

const adapters = new Map<string, unknown>(protocols.map((adapter) => [adapter.protocolVersion, adapter]))

/** Returns whether a version is known. */
export const isKnown = (version: unknown): version is ProtocolVersion =>
  typeof version === "string" && adapters.has(version)

/** The draft before the first version: servers of 2024 that were not updated answer any client with it. Its messages are the same. */
const draft = "2024-10-07"

/** Returns the version whose messages a server sends that names a version. */
export const messagesOf = (version: unknown): unknown => version === draft ? "2024-11-05" : version

/** Returns the adapter of a version. */
export const adapterOf = (version: ProtocolVersion): Adapter => adapters.get(version) as Adapter
