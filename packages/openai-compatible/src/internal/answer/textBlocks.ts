/**
 * Text blocks: text and reasoning of a streamed answer as blocks of stream parts.
 *
 * Two kinds of text are delayed: half of a surrogate pair until its other half arrives, and blank text until other text
 * follows, because servers send blanks next to calls.
 */
import type * as Response from "effect/ai/Response"
import type * as Wire from "./wire.ts"

type Kind = Wire.Piece["kind"]

export interface TextBlocks {
  readonly write: (kind: Kind, delta: string) => void
  /** Ends the last block; blank text alone is dropped next to calls. */
  readonly end: (hasCalls: boolean, metadata: { readonly metadata?: Response.ProviderMetadata }) => void
}

const endsInHalfPair = (text: string): boolean => {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}

/** The blocks of one answer. `emit` receives the parts. */
export const make = (emit: (part: Response.StreamPartEncoded) => void): TextBlocks => {
  let block: { readonly kind: Kind; readonly id: string } | undefined
  let blocks = 0
  let half: Wire.Piece = { kind: "text", text: "" }
  let blank = ""
  let hasText = false

  const put = (kind: Kind, delta: string) => {
    if (delta === "") return
    if (block?.kind !== kind) {
      if (block !== undefined) emit({ type: `${block.kind}-end`, id: block.id })
      block = { kind, id: `${kind}_${blocks++}` }
      emit({ type: `${kind}-start`, id: block.id })
    }
    emit({ type: `${kind}-delta`, id: block.id, delta: delta.toWellFormed() })
  }
  const flush = () => {
    put(half.kind, half.text)
    half = { kind: half.kind, text: "" }
  }
  const putWhole = (kind: Kind, delta: string) => {
    if (half.kind !== kind) flush()
    const text = half.text + delta
    const at = endsInHalfPair(text) ? text.length - 1 : text.length
    half = { kind, text: text.slice(at) }
    put(kind, text.slice(0, at))
  }

  return {
    write: (kind, delta) => {
      if (delta === "") return
      if (kind === "reasoning" || hasText) return putWhole(kind, delta)
      blank += delta
      if (blank.trim() === "") return
      hasText = true
      putWhole(kind, blank)
    },
    end: (hasCalls, metadata) => {
      flush()
      if (!hasText && !hasCalls) put("text", blank)
      if (block !== undefined) emit({ type: `${block.kind}-end`, id: block.id, ...metadata })
      block = undefined
    }
  }
}
