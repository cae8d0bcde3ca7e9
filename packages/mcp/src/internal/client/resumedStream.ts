/**
 * Resumed streams: servers close the stream of a long call, and proxies cut it. The answer follows in a new stream behind the last event,
 * so the call is neither lost nor repeated.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import type { McpClientError } from "effect/ai/McpClientError"
import { filteredEvents, isEventStream, type Position, type RequestId } from "./events.ts"
import type { Inbox } from "./inbox.ts"

/** The most streams in a row without an event. */
const maxEmpty = 5

/** Wait before a stream is opened again, unless the server asks for another one. */
const defaultRetry = Duration.seconds(1)

type Events<E> = Stream.Stream<Uint8Array, E | McpClientError>

/**
 * The events of a response, and of the streams behind it until the request is answered. `reopen` requests the events behind one. A stream
 * without ids ends as it is.
 */
export const resumedEvents = <E, E2>(
  first: Stream.Stream<Uint8Array, E>,
  inbox: Inbox,
  request: RequestId,
  reopen: (lastEventId: string) => Effect.Effect<HttpClientResponse.HttpClientResponse, E2>
): Events<E> =>
  Stream.suspend(() => {
    const position: Position = { lastEventId: undefined, retry: undefined, isAnswered: false }
    const canResume = () => position.lastEventId !== undefined && !position.isAnswered
    const read = <E>(bytes: Stream.Stream<Uint8Array, E>): Events<E> =>
      filteredEvents(bytes, inbox, request, position).pipe(
        Stream.catch((error) => canResume() ? Stream.empty : Stream.fail(error))
      )
    const behind = (id: string): Stream.Stream<Uint8Array, never> =>
      Stream.unwrap(
        Effect.sleep(position.retry ?? defaultRetry).pipe(
          Effect.andThen(reopen(id)),
          Effect.map((response) => {
            if (response.status === 200 && isEventStream(response)) {
              return read(response.stream).pipe(Stream.catch(() => Stream.empty))
            }
            // The server does not resume streams, or has forgotten this one.
            if (response.status < 500) position.lastEventId = undefined
            return Stream.empty
          }),
          Effect.orElseSucceed(() => Stream.empty)
        )
      )
    const rest = (empty: number): Stream.Stream<Uint8Array, never> =>
      Stream.suspend(() => {
        const id = position.lastEventId
        if (id === undefined || position.isAnswered || empty >= maxEmpty) return Stream.empty
        return Stream.concat(behind(id), Stream.suspend(() => rest(position.lastEventId === id ? empty + 1 : 0)))
      })
    return Stream.concat(read(first), rest(0))
  })
