/** Server-sent events as a response: opened at once, kept alive by comments, ended by whoever writes them. */
import type * as Duration from "effect/Duration"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Response from "effect/http/HttpServerResponse"

const headers = {
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff"
}

/** A comment that both clients skip. Headers leave with it, before the first event. */
const open = ": open\n\n"
const beat = ": beat\n\n"

/** The frame of a JSON value. */
export const frame = (value: unknown, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`

/** A response of frames. */
export const eventStream = (
  frames: Stream.Stream<string, never>,
  options: { readonly heartbeat: Duration.Duration; readonly headers?: Readonly<Record<string, string>> }
): Response.HttpServerResponse => {
  const beats = Stream.fromSchedule(Schedule.spaced(options.heartbeat)).pipe(Stream.map(() => beat))
  const text = Stream.merge(frames, beats, { haltStrategy: "left" })
  return Response.stream(Stream.encodeText(Stream.prepend(text, [open])), {
    contentType: "text/event-stream",
    headers: { ...headers, ...options.headers }
  })
}
