/** Lines on a terminal: their colours and breaks, without control characters. */
import type { Tone } from "./line.ts"

const colours: { readonly [T in Tone]: number } = {
  begin: 34,
  quiet: 2,
  call: 36,
  failure: 31,
  warning: 33,
  decision: 35,
  success: 32
}

const escape = "\u001B["

/** A text in a colour. */
export const coloured = (text: string, colour: Tone): string => `${escape}${colours[colour]}m${text}${escape}0m`

/** Control characters, and those that change the direction of text. */
// oxlint-disable-next-line no-control-regex
const obeyed = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Returns a text in which line breaks are the only control characters. */
export const harmless = (text: string): string =>
  text.replaceAll("\r\n", "\n").replaceAll("\t", "  ").replace(
    obeyed,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** Characters of two columns: letters of East Asia, and emoji. */
const wide =
  /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6]/u

// oxlint-disable-next-line no-control-regex
const ascii = /^[\u0020-\u007E]*$/

/** Returns the number of columns of a text. */
export const columnsOf = (text: string): number => {
  if (ascii.test(text)) return text.length
  let columns = 0
  for (const { segment } of graphemes.segment(text)) columns += wide.test(segment) ? 2 : 1
  return columns
}

/** As much of a text as fits, at least one character, and the rest. */
const split = (text: string, columns: number): readonly [string, string] => {
  let taken = ""
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += columnsOf(segment)
    if (used > columns && taken !== "") break
    taken += segment
  }
  return [taken, text.slice(taken.length)]
}

/** Breaks one paragraph: between words, and within those that are longer than a line. */
const breakParagraph = (text: string, first: number, others: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  const room = () => lines.length === 0 ? first : others
  for (const word of text.split(" ")) {
    const next = line === "" ? word : `${line} ${word}`
    if (columnsOf(next) <= room()) {
      line = next
      continue
    }
    // A word that is longer than a line starts at the current column.
    let left = line !== "" && columnsOf(word) > others ? next : word
    if (left === word && line !== "") lines.push(line)
    while (columnsOf(left) > room()) {
      const [taken, rest] = split(left, room())
      lines.push(taken)
      left = rest
    }
    line = left
  }
  return line === "" && lines.length > 0 ? lines : [...lines, line]
}

/** Returns the lines of a text: the first one has fewer columns, because of a prefix. */
export const breakText = (text: string, first: number, others: number): ReadonlyArray<string> =>
  text.trimEnd().split("\n").flatMap((paragraph, index) =>
    breakParagraph(paragraph, index === 0 ? first : others, others)
  )
