/** Edits of a text that may have come in pieces. */

/** Replacement of a part of a text. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Without equal parts at both ends. */
export const trimmed = ({ end, start, text }: Edit, whole: string): Edit => {
  let same = 0
  while (start + same < end && same < text.length && whole[start + same] === text[same]) same++
  let behind = 0
  while (
    start + same < end - behind && same < text.length - behind && whole[end - behind - 1] === text.at(-1 - behind)
  ) behind++
  return { start: start + same, end: end - behind, text: text.slice(same, text.length - behind) }
}

/**
 * The pieces of a text with edits, in their order: a new text is in the piece in which the old one started, and the
 * pieces behind it are shorter.
 */
export const inPieces = (pieces: ReadonlyArray<string>, edits: ReadonlyArray<Edit>): ReadonlyArray<string> => {
  let start = 0
  return pieces.map((piece) => {
    const end = start + piece.length
    let shown = ""
    let at = start
    for (const edit of edits) {
      if (edit.end < start || edit.start > end) continue
      shown += piece.slice(at - start, Math.max(at, edit.start) - start)
      if (edit.start >= start && edit.start < end) shown += edit.text
      at = Math.max(at, Math.min(edit.end, end))
    }
    shown += piece.slice(at - start)
    start = end
    return shown
  })
}
