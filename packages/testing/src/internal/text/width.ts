/** Text in the width of a terminal. */

const cut = (line: string, width: number): string => line.length <= width ? line : `${line.slice(0, width - 1)}…`

/** The lines of a text, each cut at `width`. */
export const within = (text: string, width: number): string =>
  text.split("\n").map((line) => cut(line, width)).join("\n")

/** Lines of words that are no wider than `width`, all but the first indented. */
export const wrapped = (text: string, width: number, indent = ""): string => {
  const lines: Array<string> = []
  for (const word of text.split(" ")) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(last === undefined ? word : `${indent}${word}`)
  }
  return lines.join("\n")
}
