/**
 * Reasoning in the text: a model's thoughts between tags at the beginning of its text, if the server has no parser for them. They are
 * reasoning, and neither the answer nor calls. A chat template may have written the opening tag: then the text begins with thoughts.
 */
import type { Piece } from "./wire.ts"

const names = ["think", "thinking", "thought"] as const

const openings = names.map((name) => `<${name}>`)
const closings = names.map((name) => `</${name}>`)

/** A closing tag alone in its line. */
const closingLine = new RegExp(`^[ \\t]*</(?:${names.join("|")})>[ \\t]*\\r?$`, "m")

/** True if thoughts end in a text that does not begin with their opening tag. A tag within a sentence ends none. */
const endsUnopened = (text: string): boolean => {
  // Most texts have no tags.
  const end = text.includes("</") ? text.search(closingLine) : -1
  return end >= 0 && openings.every((opening) => text.lastIndexOf(opening, end) < 0)
}

/** Splits a text that comes in pieces. */
export interface ThinkTags {
  /** The pieces that are known to be reasoning or text. */
  readonly push: (text: string) => ReadonlyArray<Piece>
  /** The rest at the end of the text. */
  readonly finish: () => ReadonlyArray<Piece>
}

const piece = (kind: Piece["kind"], text: string): ReadonlyArray<Piece> => text === "" ? [] : [{ kind, text }]

/** Length of the end of a text that may be the beginning of the marker. */
const partialLength = (text: string, marker: string): number => {
  for (let length = Math.min(marker.length - 1, text.length); length > 0; length--) {
    if (marker.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}

/** The first of the markers in a text, whole or cut off at the end; behind the text if there is none. */
const firstOf = (text: string, markers: ReadonlyArray<string>): { readonly at: number; readonly length: number } => {
  const found = markers.map((marker) => ({ at: text.indexOf(marker), length: marker.length })).filter(({ at }) =>
    at >= 0
  )
  return found.reduce(
    (first, one) => one.at < first.at ? one : first,
    { at: text.length - Math.max(...markers.map((marker) => partialLength(text, marker))), length: 0 }
  )
}

/** A splitter for the text of one answer. `startsWithReasoning`: whether a text without an opening tag begins with thoughts. */
export const make = (startsWithReasoning: () => boolean = () => false): ThinkTags => {
  /** The tags that end the thoughts. */
  let ends: ReadonlyArray<string> = closings
  let state: "start" | "thoughts" | "gap" | "text" = "start"
  let rest = ""

  const text = (): ReadonlyArray<Piece> => {
    const out = piece("text", rest)
    rest = ""
    return out
  }

  /** Blank text behind the thoughts belongs to the tags. */
  const gap = (): ReadonlyArray<Piece> => {
    rest = rest.trimStart()
    if (rest === "") return []
    state = "text"
    return text()
  }

  const thoughts = (): ReadonlyArray<Piece> => {
    const { at, length } = firstOf(rest, ends)
    const out = piece("reasoning", rest.slice(0, at))
    rest = rest.slice(at + length)
    if (length === 0) return out
    state = "gap"
    return [...out, ...gap()]
  }

  const start = (): ReadonlyArray<Piece> => {
    const first = rest.trimStart()
    const opened = openings.findIndex((one) => first.startsWith(one))
    if (opened >= 0) {
      ends = [closings[opened]!]
      state = "thoughts"
      rest = first.slice(openings[opened]!.length)
      return thoughts()
    }
    if (openings.some((one) => one.startsWith(first))) return []
    state = startsWithReasoning() ? "thoughts" : "text"
    return steps[state]()
  }

  const steps = { start, thoughts, gap, text }

  return {
    push: (more) => {
      rest += more
      return steps[state]()
    },
    finish: () => {
      const out = piece(state === "thoughts" ? "reasoning" : "text", state === "gap" ? "" : rest)
      rest = ""
      return out
    }
  }
}

/** The pieces of a whole text. */
export const split = (whole: string, startsWithReasoning: boolean): ReadonlyArray<Piece> => {
  const begins = startsWithReasoning || endsUnopened(whole)
  if (!begins && !whole.trimStart().startsWith("<")) return piece("text", whole)
  const tags = make(() => begins)
  return [...tags.push(whole), ...tags.finish()]
}
