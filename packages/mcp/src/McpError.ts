/**
 * Errors of a call of an MCP server's tool: the tool's own, the server's refusals of the request, and those of the
 * connection. Each declares if a write may have been done.
 */
import { declare } from "@recourse/core/ErrorProjection"
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as McpSchema from "effect/ai/McpSchema"

const about = { server: Schema.String, tool: Schema.String }

/** Length limit of an error's model text. */
const maxText = 4_000

const cut = (text: string): string => text.length > maxText ? `${text.slice(0, maxText)}…` : text

/** The texts of a result. */
const textOf = (content: ReadonlyArray<McpSchema.ContentBlock>): string =>
  content.flatMap((block) => block.type === "text" ? [block.text] : []).join("\n")

/**
 * The tool answered `isError: true`: the model reads its text (cut at 4,000 characters) and may correct itself. It is
 * not retried. The earlier effect of a write is unknown.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpToolError extends Schema.TaggedError<McpToolError>()(
  "McpToolError",
  { ...about, content: Schema.Array(McpSchema.ContentBlock), structuredContent: Schema.optionalKey(Schema.Json) },
  declare<{ readonly content: ReadonlyArray<McpSchema.ContentBlock>; readonly structuredContent?: Schema.Json }>({
    code: "mcp_tool_error",
    model: ({ content, structuredContent: structured }) =>
      cut(textOf(content) || (structured === undefined ? "" : JSON.stringify(structured))) ||
      "The tool failed and did not say why.",
    outcome: "unknown"
  })
) {}

/**
 * The server refuses the arguments (JSON-RPC -32602), although they fit the tool's JSON Schema. Not done.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpInvalidArgs extends Schema.TaggedError<McpInvalidArgs>()(
  "McpInvalidArgs",
  { ...about, description: Schema.String, data: Schema.optionalKey(Schema.Unknown) },
  declare<{ readonly description: string }>({
    code: "invalid_arguments",
    model: ({ description }) => cut(`The server refuses the arguments: ${description}`),
    outcome: "not_done"
  })
) {}

/**
 * The server has no such tool any more. Not done. List its tools again.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpUnknownTool extends Schema.TaggedError<McpUnknownTool>()(
  "McpUnknownTool",
  about,
  declare<{ readonly tool: string }>({
    code: "tool_not_found",
    model: () => "The server does not have this tool any more.",
    outcome: "not_done"
  })
) {}

/**
 * The server answered with a JSON-RPC error, an HTTP status, or something that is not MCP. `code` is that of JSON-RPC.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpProtocolError extends Schema.TaggedError<McpProtocolError>()(
  "McpProtocolError",
  {
    ...about,
    code: Schema.optionalKey(Schema.Int),
    status: Schema.optionalKey(Schema.Int),
    description: Schema.String,
    data: Schema.optionalKey(Schema.Unknown)
  },
  declare({ code: "upstream_error", outcome: "unknown" })
) {}

/**
 * The server refuses the request: it does not have this method (-32601) or cannot parse it (-32700, -32600). Not done.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpRequestRefused extends Schema.TaggedError<McpRequestRefused>()(
  "McpRequestRefused",
  { ...about, code: Schema.Int, description: Schema.String },
  declare({ code: "execution_error", outcome: "not_done" })
) {}

/**
 * The server refuses the program's credentials (HTTP 401, 403). Not done.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpUnauthorized extends Schema.TaggedError<McpUnauthorized>()(
  "McpUnauthorized",
  { ...about, status: Schema.Int },
  declare({ code: "authentication", outcome: "not_done" })
) {}

/**
 * The server accepts no more requests for now (HTTP 429). Not done.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpRateLimited extends Schema.TaggedError<McpRateLimited>()(
  "McpRateLimited",
  { ...about, retryAfter: Schema.optionalKey(Schema.Duration) },
  declare<{ readonly retryAfter?: Duration.Duration }>({
    code: "rate_limited",
    retryAfter: ({ retryAfter }) => retryAfter,
    outcome: "not_done"
  })
) {}

/**
 * The server reports a timeout (HTTP 408 or 504, JSON-RPC -32001). The effect of a write is unknown.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpServerTimeout extends Schema.TaggedError<McpServerTimeout>()(
  "McpServerTimeout",
  about,
  declare({ code: "timeout", outcome: "unknown" })
) {}

/**
 * The connection was lost before the request was sent. Not done.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpRequestNotSent extends Schema.TaggedError<McpRequestNotSent>()(
  "McpRequestNotSent",
  { ...about, description: Schema.String, cause: Schema.optionalKey(Schema.Defect()) },
  declare({ code: "upstream_error", outcome: "not_done" })
) {}

/**
 * The connection was lost after the request was sent, or may have been. The effect of a write is unknown.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpResponseLost extends Schema.TaggedError<McpResponseLost>()(
  "McpResponseLost",
  { ...about, description: Schema.String, cause: Schema.optionalKey(Schema.Defect()) },
  declare({ code: "upstream_error", outcome: "unknown" })
) {}

/**
 * The server cannot be reached or started, and is left alone until `retryAfter` has passed. Not done.
 *
 * @category errors
 * @since 0.2.0
 */
export class McpServerGone extends Schema.TaggedError<McpServerGone>()(
  "McpServerGone",
  { ...about, retryAfter: Schema.Duration, description: Schema.String },
  declare<{ readonly retryAfter: Duration.Duration }>({
    code: "circuit_open",
    retryAfter: ({ retryAfter }) => retryAfter,
    outcome: "not_done"
  })
) {}

/**
 * Errors of a call of an MCP server's tool, in the `reason` of `ExecutionError` or `OutcomeUnknown`.
 *
 * @category schemas
 * @since 0.2.0
 */
export const McpError = Schema.Union([
  McpToolError,
  McpInvalidArgs,
  McpUnknownTool,
  McpProtocolError,
  McpRequestRefused,
  McpUnauthorized,
  McpRateLimited,
  McpServerTimeout,
  McpRequestNotSent,
  McpResponseLost,
  McpServerGone
])

/**
 * Error of a call of an MCP server's tool.
 *
 * @category errors
 * @since 0.2.0
 */
export type McpError = typeof McpError.Type
