/** Splits text that comes in chunks into lines. */

/** The longest line that is waited for, in characters: more than effect's client takes in a message. */
const longest = 20 * 1024 * 1024

/** The lines that a chunk ends. `overflow` is the text of a line that is too long, which the client refuses. */
export interface Lines {
  readonly lines: ReadonlyArray<string>
  readonly overflow: string
}

/** Makes a reader that is given the chunks in order. */
export const lineReader = (): (chunk: string) => Lines => {
  let parts: Array<string> = []
  let length = 0
  return (chunk) => {
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
}
