/** A call of a server's tool: sent once, or once more on a new session if the first one had expired, with its progress reported. */
import * as JsonText from "@recourse/core/JsonText"
import type { ToolCall } from "@recourse/core/ToolCall"
import * as Effect from "effect/Effect"
import type { McpClientError } from "effect/ai/McpClientError"
import * as McpSchema from "effect/ai/McpSchema"
import { type McpError, McpInvalidArgs, McpRequestNotSent, McpServerGone, McpToolError } from "../../McpError.ts"
import type { Connection, Live } from "../connection.ts"
import { type About, fromClient } from "../errors.ts"
import type { McpResult } from "../result.ts"
import * as Exchange from "./exchange.ts"
import { reportingProgress } from "./progress.ts"
import type { Answered, ServerRead } from "./serverReads.ts"

/** The session had expired: the server has not read the request. */
export class SessionExpired<E> {
  readonly _tag = "SessionExpired"
  readonly error: E
  constructor(error: E) {
    this.error = error
  }
}

/** Returns whether a request met an expired session. */
export const isExpired = <E>(error: E | SessionExpired<E>): error is SessionExpired<E> =>
  error instanceof SessionExpired

/** Returns the client, connected, or the error of a call that cannot be sent. */
export const connected = (
  connection: Connection,
  about: About
): Effect.Effect<Live, McpServerGone | McpRequestNotSent> =>
  Effect.mapError(connection.live, ({ reason, retryAfter }) =>
    reason === undefined
      ? new McpServerGone({
        ...about,
        retryAfter,
        description: "The server is left alone, because it could not be reached"
      })
      : new McpRequestNotSent({ ...about, description: reason.message, cause: reason }))

/**
 * True if an error means that the session has ended and that this request was not read; a list may be requested in any
 * case.
 */
export const hasExpired = (
  { peer }: Live,
  { reason }: McpClientError,
  exchange: Exchange.Exchange = Exchange.make()
): Effect.Effect<boolean> => {
  if (!Exchange.wasNotRead(exchange)) return Effect.succeed(false)
  if (reason._tag === "ClosedError") return Effect.succeed(reason.sessionExpired === true)
  // Many servers answer 400 or 410 to an unknown session. A ping distinguishes it from a refused request.
  return reason._tag === "HttpError" && Exchange.goneStatuses.has(reason.status) && peer !== undefined
    ? peer.isSessionGone
    : Effect.succeed(false)
}

/** The structured content of a server that sends it only as text, which is the form of the protocol for older clients. */
const objectIn = ([block, ...others]: Answered["content"]): unknown => {
  const text = block?.type === "text" && others.length === 0 ? block.text.trim() : ""
  return text.startsWith("{") ? JsonText.exactAt(text, []) : undefined
}

/** Codes of servers that do not have a resource or a prompt. */
const unreadable = new Set<number>([-32_002, McpSchema.INVALID_PARAMS_ERROR_CODE])

/** Calls a tool, or makes the request of a read of resources or prompts. A result with `isError` is a `McpToolError`. */
export const callTool = (
  connection: Connection,
  about: About,
  tool: McpSchema.Tool,
  args: Record<string, unknown>,
  read?: ServerRead
): Effect.Effect<McpResult, McpError, ToolCall> => {
  const errorOf = (live: Live, error: McpClientError, isExpired: boolean) => {
    const { reason } = error
    const code = reason._tag === "ProtocolError" || reason._tag === "HttpError" ? reason.code : undefined
    return read !== undefined && code !== undefined && unreadable.has(code)
      ? Effect.succeed({ error: new McpInvalidArgs({ ...about, description: reason.message }), isLost: false })
      : fromClient(about, live, tool, error, isExpired)
  }
  const on = (live: Live): Effect.Effect<Answered, McpError | SessionExpired<McpError>, ToolCall> =>
    Effect.suspend(() => {
      const exchange = Exchange.make()
      const request: Effect.Effect<Answered, McpClientError> = read === undefined
        ? live.client.callTool({ tool, arguments: args })
        : read.request(live, args)
      return request.pipe(
        reportingProgress,
        Effect.provideService(Exchange.CurrentExchange, exchange),
        Effect.catch((error) =>
          Effect.flatMap(
            hasExpired(live, error, exchange),
            (isExpired) =>
              Effect.flatMap(errorOf(live, error, isExpired), ({ error, isLost }) =>
                Effect.andThen(
                  isLost ? connection.lost(live) : Effect.void,
                  Effect.fail(isExpired ? new SessionExpired(error) : error)
                ))
          )
        )
      )
    })
  const once = Effect.flatMap(connected(connection, about), (live) => connection.using(live, on(live)))
  return once.pipe(
    Effect.catchIf(isExpired, () => once),
    Effect.mapError((error) => isExpired(error) ? error.error : error),
    Effect.flatMap(({ content, isError, structuredContent: given }) => {
      const structuredContent = given ?? (tool.outputSchema === undefined ? undefined : objectIn(content))
      const result = { content, ...(structuredContent === undefined ? undefined : { structuredContent }) }
      return isError === true
        ? Effect.fail(new McpToolError({ ...about, ...result as { content: typeof content } }))
        : Effect.succeed(result)
    })
  )
}
