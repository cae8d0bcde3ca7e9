/** Event streams (SSE) of servers: notifications go to the inbox, noise is skipped, and all else passes. */
import { LimitError, McpClientError } from "effect/ai/McpClientError"
import type * as McpSchema from "effect/ai/McpSchema"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { makeParser } from "effect/encoding/Sse"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import type { Inbox } from "./inbox.ts"
import { isNotification, messagesIn } from "./messages.ts"

const mediaTypeOf = ({ headers }: HttpClientResponse.HttpClientResponse): string | undefined =>
  headers["content-type"]?.split(";", 1)[0]!.trim().toLowerCase()

/** Returns whether a response is an event stream. */
export const isEventStream = (response: HttpClientResponse.HttpClientResponse): boolean =>
  mediaTypeOf(response) === "text/event-stream"

/** Returns whether a response is one message, or a batch. */
export const isJson = (response: HttpClientResponse.HttpClientResponse): boolean =>
  mediaTypeOf(response) === "application/json"

/** Returns whether a response has no media type, or that of any text: servers answer a request with JSON all the same. */
export const hasNoType = (response: HttpClientResponse.HttpClientResponse): boolean => {
  const type = mediaTypeOf(response)
  return type === undefined || type === "text/plain"
}

/** The largest event, in characters: more than effect's client takes in a message. */
const maxEventSize = 20 * 1024 * 1024

const tooLarge = new McpClientError({
  reason: new LimitError({ description: "A message of the MCP server is too large" })
})

/** An event of a stream. */
export interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** Position in a stream that can be resumed. */
export interface Position {
  /** The id of the last event, if the server gives ids. */
  lastEventId: string | undefined
  /** The wait before the stream is opened again, if the server asks for one. */
  retry: Duration.Duration | undefined
  /** True if the stream has answered its request. */
  isAnswered: boolean
}

const isJsonText = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * Reads the events of a stream of bytes, and notes the position. Servers omit the blank line behind the last event: it is read if it is
 * whole.
 */
export const events = <E>(
  bytes: Stream.Stream<Uint8Array, E>,
  position?: Position
): Stream.Stream<ServerEvent, E | McpClientError> =>
  Stream.suspend(() => {
    const found: Array<ServerEvent> = []
    let hasEnded = false
    const parser = makeParser((event) => {
      if (event._tag === "Retry") {
        if (position !== undefined) position.retry = event.duration
        return
      }
      if (hasEnded && !isJsonText(event.data)) return
      if (position !== undefined && event.id !== undefined && event.id !== "") position.lastEventId = event.id
      if (event.data !== "") found.push({ event: event.event, data: event.data })
    }, { maxEventSize })
    const end = Stream.suspend(() => {
      hasEnded = true
      return Stream.succeed("\n\n")
    })
    return bytes.pipe(
      Stream.decodeText(),
      Stream.concat(end),
      Stream.flatMap((chunk) => {
        const error = parser.feed(chunk)
        const read = Stream.fromIterable(found.splice(0))
        return error === undefined ? read : Stream.concat(read, Stream.fail(tooLarge))
      })
    )
  })

/** The id of a request and of its response. */
export type RequestId = McpSchema.RequestId | undefined

/** True for a response to another request than the one of a stream, such as a late one: it is noise there. */
const isStray = (message: McpSchema.JsonRpcMessage, request: RequestId): boolean =>
  request !== undefined && !("method" in message) && (message.id ?? request) !== request

/** Returns the messages without notifications, which the inbox receives, and without responses to other requests. */
const filtered = (messages: ReadonlyArray<McpSchema.JsonRpcMessage>, inbox: Inbox, request: RequestId) =>
  messages.filter((message) => {
    if (isNotification(message)) inbox.receive(message)
    else if (isStray(message, request)) inbox.skip()
    else return true
    return false
  })

/** Returns the messages of an event, without notifications, and without responses to other requests. */
export const answersIn = ({ data }: ServerEvent, inbox: Inbox, request?: RequestId) => {
  const messages = messagesIn(data, request)
  if (messages === undefined) inbox.skip()
  return filtered(messages ?? [], inbox, request)
}

/** A stream of events without notifications and noise. */
export const filteredEvents = <E>(
  bytes: Stream.Stream<Uint8Array, E>,
  inbox: Inbox,
  request?: RequestId,
  position?: Position
): Stream.Stream<Uint8Array, E | McpClientError> =>
  events(bytes, position).pipe(
    Stream.flatMap((event) => {
      const messages = answersIn(event, inbox, request)
      if (position !== undefined && messages.some((message) => !("method" in message))) position.isAnswered = true
      return Stream.fromIterable(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`))
    }),
    Stream.encodeText
  )

/** The one message of a response of JSON as text, with the numbers of `messagesIn` and without unknown fields, or the text itself. */
const exactText = (text: string, inbox: Inbox, request: RequestId): string => {
  const messages = filtered(messagesIn(text, request) ?? [], inbox, request)
  return messages.length === 1 ? JSON.stringify(messages[0]) : text
}

/** A response of JSON without notifications, in which no whole number of a structured content loses digits. */
export const exactBody = <E>(
  bytes: Stream.Stream<Uint8Array, E>,
  inbox: Inbox,
  request: RequestId
): Stream.Stream<Uint8Array, E | McpClientError> => {
  const limited: Stream.Stream<Uint8Array, E | McpClientError> = Stream.limitBytes(
    bytes as Stream.Stream<Uint8Array, E | McpClientError>,
    maxEventSize,
    () => Stream.fail(tooLarge)
  )
  const text = Effect.map(Stream.mkString(Stream.decodeText(limited)), (text) => exactText(text, inbox, request))
  return Stream.encodeText(Stream.fromEffect(text))
}
