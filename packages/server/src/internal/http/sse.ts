/** Server-sent events as a response: opened at once, ended by whoever writes them. */
import * as Stream from "effect/Stream"
import * as Response from "effect/http/HttpServerResponse"

const headers = {
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff"
}

/** A comment that both clients skip. Headers leave with it, before the first event. */
const open = ": open\n\n"

/** A comment that keeps a connection alive. */
export const beat = ": beat\n\n"

/** The frame of a JSON value. */
export const frame = (value: unknown, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`

const encoder = new TextEncoder()

/** A response of frames. What is there at the same time leaves in one piece. */
export const eventStream = (
  frames: Stream.Stream<string>,
  more?: Readonly<Record<string, string>>
): Response.HttpServerResponse =>
  Response.stream(
    Stream.mapArray(Stream.prepend(frames, [open]), (texts) => [encoder.encode(texts.join(""))] as const),
    { contentType: "text/event-stream", headers: { ...headers, ...more } }
  )
