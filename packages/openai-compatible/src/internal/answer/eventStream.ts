/** Server-sent events, parsed from bytes in any split. */
import * as Sse from "effect/encoding/Sse"
import * as ToolArguments from "./toolArguments.ts"

export interface Event {
  readonly event: string
  readonly data: string
}

export interface Parser {
  /** The events that these bytes complete. */
  readonly push: (bytes: Uint8Array) => ReadonlyArray<Event>
  /**
   * The event that the end of the body completes, if the server omitted the last blank line. One that is cut off is not
   * an event.
   */
  readonly finish: () => ReadonlyArray<Event>
}

/** A parser for one body. `retry` fields are ignored: a chat completion cannot be resumed. */
export const make = (): Parser => {
  const decoder = new TextDecoder()
  let events: Array<Event> = []
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Event") events.push({ event: event.event, data: event.data })
  }, { maxEventSize: Number.POSITIVE_INFINITY })
  const feed = (text: string) => {
    events = []
    parser.feed(text)
    return events
  }
  return {
    push: (bytes) => feed(decoder.decode(bytes, { stream: true })),
    finish: () =>
      feed(`${decoder.decode()}\n\n`).filter(({ data }) => data.trim() === "[DONE]" || ToolArguments.isComplete(data))
  }
}
