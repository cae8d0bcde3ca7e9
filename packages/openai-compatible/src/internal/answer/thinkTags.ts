/**
 * Reasoning in the text: a model's thoughts between tags at the beginning of its text, if the server has no parser for them. They are
 * reasoning, and neither the answer nor calls.
 */
import type { Piece } from "./wire.ts"

const names = ["think", "thinking", "thought"] as const

const openings = names.map((name) => `<${name}>`)

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

/** A splitter for the text of one answer. */
export const make = (): ThinkTags => {
  /** The end of the thoughts; `undefined` before them. */
  let closing: string | undefined
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
    const end = rest.indexOf(closing!)
    const safe = end >= 0 ? end : rest.length - partialLength(rest, closing!)
    const out = piece("reasoning", rest.slice(0, safe))
    rest = rest.slice(end >= 0 ? end + closing!.length : safe)
    if (end < 0) return out
    state = "gap"
    return [...out, ...gap()]
  }

  const start = (): ReadonlyArray<Piece> => {
    const first = rest.trimStart()
    const opening = openings.find((one) => first.startsWith(one))
    if (opening !== undefined) {
      closing = opening.replace("<", "</")
      state = "thoughts"
      rest = first.slice(opening.length)
      return thoughts()
    }
    if (openings.some((one) => one.startsWith(first))) return []
    state = "text"
    return text()
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
export const split = (whole: string): ReadonlyArray<Piece> => {
  if (!whole.trimStart().startsWith("<")) return piece("text", whole)
  const tags = make()
  return [...tags.push(whole), ...tags.finish()]
}
