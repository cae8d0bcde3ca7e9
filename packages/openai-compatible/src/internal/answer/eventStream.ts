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

const isWhole = (data: string): boolean => data.trim() === "[DONE]" || ToolArguments.isComplete(data)

/** The events of one block: servers that omit the blank line between events send several as one. */
const eventsIn = ({ data, event }: Event): ReadonlyArray<Event> => {
  if (!data.includes("\n") || isWhole(data)) return [{ data, event }]
  const lines = data.split("\n").filter((line) => line.trim() !== "")
  return lines.every(isWhole) ? lines.map((line) => ({ data: line, event })) : [{ data, event }]
}

/** True for a text that is an event stream by its beginning. */
export const isEventStream = (text: string): boolean => /^\uFEFF?\s*(?:(?:data|event|id|retry):|:)/.test(text)

/** A body that is JSON or a page in place of events, by its first character. */
export interface OtherBody {
  /** True if these bytes belong to it. */
  readonly push: (bytes: Uint8Array) => boolean
  /** Its text; `undefined` for a body of events. */
  readonly finish: () => string | undefined
}

/** Recognises a body that is no event stream. No field of an event begins with such a character. */
export const otherBody = (): OtherBody => {
  const decoder = new TextDecoder()
  let is: boolean | undefined
  let text = ""
  return {
    push: (bytes) => {
      if (is === undefined) {
        const [first] = new TextDecoder().decode(bytes).trimStart()
        if (first === undefined) return false
        is = first === "{" || first === "[" || first === "<"
      }
      if (is) text += decoder.decode(bytes, { stream: true })
      return is
    },
    finish: () => is === true ? text + decoder.decode() : undefined
  }
}

/** A parser for one body. `retry` fields are ignored: a chat completion cannot be resumed. */
export const make = (): Parser => {
  const decoder = new TextDecoder()
  let events: Array<Event> = []
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Event") events.push(...eventsIn({ event: event.event, data: event.data }))
  }, { maxEventSize: Number.POSITIVE_INFINITY })
  const feed = (text: string) => {
    events = []
    parser.feed(text)
    return events
  }
  return {
    push: (bytes) => feed(decoder.decode(bytes, { stream: true })),
    finish: () => feed(`${decoder.decode()}\n\n`).filter(({ data }) => isWhole(data))
  }
}
