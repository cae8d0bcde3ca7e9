/** Events of a body, parsed from bytes in any split: server-sent events, and the lines of newline-delimited JSON. */
import * as Sse from "effect/encoding/Sse"
import * as ToolArguments from "./toolArguments.ts"

export interface Event {
  readonly event: string
  readonly data: string
}

export interface Parser {
  /** The events that these bytes complete. */
  readonly push: (bytes: Uint8Array) => ReadonlyArray<Event>
  /** The end of the body. */
  readonly finish: () => Rest
}

/** The end of a body. */
export interface Rest {
  /**
   * The event that the end of the body completes, if the server omitted the last blank line. One that is cut off is not
   * an event.
   */
  readonly events: ReadonlyArray<Event>
  /** The text of a body that is JSON or a page in place of events. */
  readonly other: string | undefined
}

/** True for the event that ends a stream, in the spellings of servers that write it by hand. */
export const isEnd = ({ data, event }: Event): boolean =>
  /^\s*\[done\]\s*$/i.test(data) || (/^\s*done\s*$/i.test(data) && (event === "message" || event === "done"))

const isWhole = (data: string): boolean => isEnd({ data, event: "message" }) || ToolArguments.isComplete(data)

/** The events of one block: servers that omit the blank line between events send several as one. */
const eventsIn = ({ data, event }: Event): ReadonlyArray<Event> => {
  if (!data.includes("\n") || isWhole(data)) return [{ data, event }]
  const lines = data.split("\n").filter((line) => line.trim() !== "")
  return lines.every(isWhole) ? lines.map((line) => ({ data: line, event })) : [{ data, event }]
}

const lineEnd = /[\r\n]/

/**
 * The kind of a body by its beginning, without blanks before it; `undefined` until enough is received. No field of an event begins with
 * such a character. Lines of JSON are events: the first one is whole, and more follow.
 */
const kindOf = (beginning: string): "events" | "other" | undefined => {
  const [first] = beginning
  if (first !== "{") return first === "<" || first === "[" ? "other" : "events"
  const end = beginning.search(lineEnd)
  if (end < 0 || beginning.slice(end).trim() === "") return undefined
  return ToolArguments.isComplete(beginning.slice(0, end)) ? "events" : "other"
}

/** True for a text that is a body of events by its beginning. */
export const isEventStream = (text: string): boolean =>
  /^\uFEFF?\s*(?:(?:data|event|id|retry|error):|:)/.test(text) ||
  (/^\s*\{/.test(text) && kindOf(text.trimStart()) === "events")

/**
 * Makes events of lines that are JSON: servers of newline-delimited JSON send them, and servers of events send errors so. Older
 * servers of llama.cpp send an error in a field of that name.
 */
const withFields = (lines: string): string =>
  lines
    .replaceAll(/(?<=^|[\r\n])error:(?=[^\r\n]*\})/g, "event: error\ndata:")
    .replaceAll(/(?<=^|[\r\n])(?:\{[^\r\n]*|\[DONE\])(?=[\r\n])/g, (line) => `data: ${line}\n\n`)

/** Drops the field names within the data: gateways that frame the lines of another server repeat them. */
const withoutField = (data: string): string => data.startsWith("data:") ? data.replaceAll(/^(?:data:\s*)+/gm, "") : data

/** A parser for one body. `retry` fields are ignored: a chat completion cannot be resumed. */
export const make = (): Parser => {
  const decoder = new TextDecoder()
  let kind: "events" | "other" | undefined
  /** The received text before the kind is known, or of another body; then the last line, which has not ended. */
  let pending = ""
  /** True once a line has ended. */
  let hasLines = false
  let events: Array<Event> = []
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Event") events.push(...eventsIn({ event: event.event, data: withoutField(event.data) }))
  }, { maxEventSize: Number.POSITIVE_INFINITY })
  const feed = (text: string): ReadonlyArray<Event> => {
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1
    if (end === 0) {
      pending += text
      return []
    }
    const lines = pending + text.slice(0, end)
    pending = text.slice(end)
    events = []
    parser.feed(withFields(lines))
    return events
  }
  const read = (text: string): ReadonlyArray<Event> => {
    if (kind === "events") return feed(text)
    const isFirst = pending === ""
    const more = isFirst ? text.trimStart() : text
    pending += more
    if (kind === "other" || pending === "") return []
    hasLines ||= lineEnd.test(more)
    // A line of JSON is read once, when it has ended.
    if (!isFirst && !hasLines) return []
    kind = kindOf(pending)
    if (kind !== "events") return []
    const beginning = pending
    pending = ""
    return feed(beginning)
  }
  return {
    push: (bytes) => read(decoder.decode(bytes, { stream: true })),
    finish: () => {
      const rest = decoder.decode()
      if (kind === "events") {
        return { events: feed(`${rest}\n\n`).filter(({ data }) => isWhole(data)), other: undefined }
      }
      return { events: [], other: pending + rest || undefined }
    }
  }
}
