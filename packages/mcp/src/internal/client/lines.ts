/** Splits text that comes in chunks into lines. */

/** The longest line that is waited for, in characters: more than effect's client takes in a message. */
const longest = 20 * 1024 * 1024

/** The lines that a chunk ends. `overflow` is the text of a line that is too long, which the client refuses. */
export interface Lines {
  readonly lines: ReadonlyArray<string>
  readonly overflow: string
}

/** A reader that is given the chunks in order. */
export interface LineReader {
  readonly read: (chunk: string) => Lines
  /** The text behind the last end of line. */
  readonly rest: () => string
}

/** Makes a reader of lines. */
export const lineReader = (): LineReader => {
  let parts: Array<string> = []
  let length = 0
  const read = (chunk: string): Lines => {
    const pieces = chunk.split("\n")
    const last = pieces.pop()!
    if (pieces.length > 0) {
      pieces[0] = parts.join("") + pieces[0]!
      parts = []
      length = 0
    }
    if (last !== "") {
      parts.push(last)
      length += last.length
    }
    if (length <= longest) return { lines: pieces, overflow: "" }
    const overflow = parts.join("")
    parts = []
    length = 0
    return { lines: pieces, overflow }
  }
  return { read, rest: () => parts.join("") }
}
