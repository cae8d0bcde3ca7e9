/** Server-sent events as a response: opened at once, ended by whoever writes them. */
import type * as Stream from "effect/Stream"
import * as Response from "effect/http/HttpServerResponse"

const headers = {
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff"
}

/** A comment that both clients skip. Headers leave with it, before the first event. */
export const open = ": open\n\n"

/** A comment that keeps a connection alive. */
export const beat = ": beat\n\n"

/** The frame of a JSON value. */
export const frame = (value: unknown, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`

/** A response of frames that are encoded already. */
export const eventStream = (
  frames: Stream.Stream<Uint8Array>,
  more?: Readonly<Record<string, string>>
): Response.HttpServerResponse =>
  Response.stream(frames, { contentType: "text/event-stream", headers: { ...headers, ...more } })
