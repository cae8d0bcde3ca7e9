/**
 * JSON syntax errors, for a model that has to write the text again. Names places and keys, never values. Not recursive;
 * linear in the text.
 */
import { cutText } from "./jsonShape.ts"

/** A mistake in a text, and its index. */
interface Mistake {
  readonly at: number
  readonly expected: string
}

/** Expected token: `first` if a bracket may close instead, `next` is a comma or a closing bracket. */
type State = "value" | "item" | "firstItem" | "key" | "firstKey" | "colon" | "next"

const cutOff = "one complete JSON object: the text is cut off"
const words = /(?:true|false|null)(?![\w$])/y
const numbers = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/y
const space = /[ \t\n\r]*/y

class Scanner {
  readonly text: string
  at = 0
  constructor(text: string) {
    this.text = text
  }

  private take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    if (!pattern.test(this.text)) return false
    this.at = pattern.lastIndex
    return true
  }

  skipSpace(): void {
    this.take(space)
  }

  /** Reads a string; returns its mistake, if it has one. */
  string(): Mistake | undefined {
    const { text } = this
    this.at++
    for (; this.at < text.length; this.at++) {
      const char = text[this.at]!
      if (char === "\"") {
        this.at++
        return undefined
      }
      if (char === "\\") {
        const escaped = text[this.at + 1]
        if (escaped === undefined) break
        if (escaped === "u" && !/\\u[0-9a-f]{4}/i.test(text.slice(this.at, this.at + 6))) {
          if (text.length < this.at + 6) break
          return { at: this.at, expected: "four hexadecimal digits behind \\u" }
        }
        if (!"\"\\/bfnrtu".includes(escaped)) {
          return { at: this.at, expected: "a backslash to be written as \\\\: this escape is none of JSON" }
        }
        this.at++
      } else if (char === "\n" || char === "\r") {
        return { at: this.at, expected: "a line break within a string to be written as \\n" }
      } else if (char < " ") {
        return { at: this.at, expected: "a control character within a string to be escaped, as \\t or \\u0000" }
      }
    }
    return { at: text.length, expected: cutOff }
  }

  /** Reads a value that is no string, object or array. */
  simple(): Mistake | undefined {
    if (this.take(words) || this.take(numbers)) return undefined
    const { at, text } = this
    const rest = text.slice(at, at + 12)
    // A number or a word that the end of the text cuts.
    if (
      at + rest.length === text.length &&
      /^(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|-?\d+(?:\.|\.?\d*[eE][+-]?))$/.test(rest)
    ) {
      return { at: text.length, expected: cutOff }
    }
    if (rest.startsWith("'")) return { at, expected: "double quotes around strings" }
    if (/^\/[/*]|^#/.test(rest)) return { at, expected: "no comments" }
    if (/^(?:NaN|[+-]?Infinity|undefined|True|False|None)/.test(rest)) {
      return { at, expected: "a value of JSON: a string, a number, true, false, null, an object or an array" }
    }
    return { at, expected: /^[\d.+-]/.test(rest) ? "a number as JSON writes it" : "a value" }
  }
}

const closes = (char: string | undefined): boolean => char === "}" || char === "]"

/** Reads a key: what is wrong with it, or with its standing here. */
const keyMistake = (scanner: Scanner, keys: Set<string>): Mistake | undefined => {
  const { at, text } = scanner
  const char = text[at]!
  if (char !== "\"") {
    const expected = char === "/" || char === "#"
      ? "no comments"
      : char === ","
      ? "no second comma"
      : "a key in double quotes"
    return { at, expected }
  }
  const mistake = scanner.string()
  if (mistake !== undefined) return mistake
  const key = JSON.parse(text.slice(at, scanner.at)) as string
  if (key === "__proto__") return { at, expected: "no key \"__proto__\"" }
  if (keys.has(key)) return { at, expected: `the key ${JSON.stringify(cutText(key, 64))} once` }
  keys.add(key)
  return undefined
}

/** Checks the text behind the object. */
const behind = (scanner: Scanner): Mistake | undefined => {
  scanner.skipSpace()
  const { at, text } = scanner
  if (at === text.length) return undefined
  return {
    at,
    expected: `one JSON object: ${text[at] === "{" ? "a second one begins here" : "there is more text behind it"}`
  }
}

/** The mistake of a missing comma or closing bracket. */
const notNext = ({ at, text }: Scanner): Mistake => ({
  at,
  expected: text[at - 1] === "\"" && text[at] !== "\""
    ? "a comma or the end here: a quote within a string is written as \\\""
    : "a comma here, or a closing bracket"
})

/** Reads one object and returns its first mistake; `undefined` if there is none. */
const firstMistake = (text: string): Mistake | undefined => {
  const scanner = new Scanner(text)
  /** The keys of each unclosed object; `undefined` for arrays. */
  const open: Array<Set<string> | undefined> = []
  let state: State = "value"
  while (true) {
    scanner.skipSpace()
    const { at } = scanner
    const char = text[at]
    if (char === undefined) return { at, expected: cutOff }
    if (closes(char) && (state === "next" || state === "firstItem" || state === "firstKey")) {
      const isObject = open.at(-1) !== undefined
      if (isObject !== (char === "}")) return { at, expected: `${isObject ? "}" : "]"} here` }
      open.pop()
      scanner.at++
      if (open.length === 0) return behind(scanner)
      state = "next"
      continue
    }
    switch (state) {
      case "item":
      case "firstItem":
      case "value": {
        if (closes(char) && state === "item") return { at, expected: `no comma before ${char}` }
        if (char === "{" || char === "[") {
          open.push(char === "{" ? new Set() : undefined)
          scanner.at++
          state = char === "{" ? "firstKey" : "firstItem"
          continue
        }
        const mistake = char === "\"" ? scanner.string() : scanner.simple()
        if (mistake !== undefined) return mistake
        state = "next"
        continue
      }
      case "firstKey":
      case "key": {
        if (closes(char)) return { at, expected: `no comma before ${char}` }
        const mistake = keyMistake(scanner, open.at(-1)!)
        if (mistake !== undefined) return mistake
        state = "colon"
        continue
      }
      case "colon":
        if (char !== ":") return { at, expected: "a colon behind the key" }
        scanner.at++
        state = "value"
        continue
      case "next":
        if (char !== ",") return notNext(scanner)
        scanner.at++
        state = open.at(-1) === undefined ? "item" : "key"
    }
  }
}

/** Line and column, counted from 1. */
const positionOf = (text: string, at: number): string => {
  const before = text.slice(0, at)
  const line = before.split("\n").length
  return `line ${line}, column ${at - (before.lastIndexOf("\n") + 1) + 1}`
}

/**
 * Returns the first fault that prevents a text from being one JSON object, and its position; `undefined` if it is one,
 * with each key once.
 */
export const objectMistake = (text: string): string | undefined => {
  const start = text.search(/[^ \t\n\r]/)
  if (start < 0) return "expected one JSON object: the text is empty"
  if (text[start] !== "{") {
    return `expected one JSON object, from { to }, without other text (${positionOf(text, start)})`
  }
  const mistake = firstMistake(text)
  return mistake && `expected ${mistake.expected} (${positionOf(text, mistake.at)})`
}
