/**
 * Colours of code: cuts a text into comments, texts, numbers and words of the language. It makes no HTML: a page shows each piece as text. Languages
 * that it does not know are one piece.
 */

export type Look = "comment" | "text" | "number" | "word" | "plain"

export interface Piece {
  readonly look: Look
  readonly text: string
}

interface Language {
  /** Start of a comment: to the end of the line, or to its own end. */
  readonly comments: ReadonlyArray<string>
  readonly texts: ReadonlyArray<string>
  readonly words: ReadonlySet<string>
  readonly ignoresCase?: boolean
}

const wordsOf = (words: string): ReadonlySet<string> => new Set(words.split(" "))

const slashes = [String.raw`\/\/[^\n]*`, String.raw`\/\*[^]*?(?:\*\/|$)`]
const hash = ["#[^\\n]*"]
const quoted = [String.raw`"(?:\\.|[^"\\\n])*"?`, String.raw`'(?:\\.|[^'\\\n])*'?`]

const script: Language = {
  comments: slashes,
  texts: [...quoted, String.raw`\`(?:\\.|[^\`\\])*\`?`],
  words: wordsOf(
    "abstract as async await boolean break case catch class const continue default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null number of private protected public readonly return set static string super switch this throw true try type typeof undefined var void while yield"
  )
}

const braces: Language = {
  comments: slashes,
  texts: quoted,
  words: wordsOf(
    "abstract auto bool boolean break byte case catch char class const continue default defer delete do double else enum extends false final float fn for func go goto if impl implements import in int interface let long loop map match mod mut namespace new nil null package private protected pub public range return select self short static string struct super switch this throw throws trait true try type unsafe use using var virtual void where while yield"
  )
}

const languages: Readonly<Record<string, Language>> = {
  script,
  braces,
  json: { comments: [], texts: quoted, words: wordsOf("true false null") },
  python: {
    comments: hash,
    texts: [`"""[^]*?(?:"""|$)`, "'''[^]*?(?:'''|$)", ...quoted],
    words: wordsOf(
      "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return self True try while with yield"
    )
  },
  shell: {
    comments: [String.raw`(?<=^|\s)#[^\n]*`],
    texts: quoted,
    words: wordsOf("case cd do done echo elif else esac exit export fi for function if in local return set then while")
  },
  sql: {
    comments: [String.raw`--[^\n]*`, String.raw`\/\*[^]*?(?:\*\/|$)`],
    texts: ["'(?:''|[^'])*'?"],
    words: wordsOf(
      "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null on or order outer primary references returning right rollback select set table then union unique update using values view when where with"
    ),
    ignoresCase: true
  },
  yaml: { comments: [String.raw`(?<=^|\s)#[^\n]*`], texts: quoted, words: wordsOf("true false null yes no") }
}

const names: Readonly<Record<string, string>> = {
  js: "script",
  jsx: "script",
  ts: "script",
  tsx: "script",
  mjs: "script",
  javascript: "script",
  typescript: "script",
  json: "json",
  jsonc: "json",
  py: "python",
  python: "python",
  sh: "shell",
  bash: "shell",
  zsh: "shell",
  shell: "shell",
  sql: "sql",
  yaml: "yaml",
  yml: "yaml",
  toml: "yaml",
  c: "braces",
  "c++": "braces",
  cpp: "braces",
  cs: "braces",
  "c#": "braces",
  go: "braces",
  java: "braces",
  kotlin: "braces",
  php: "braces",
  rust: "braces",
  rs: "braces",
  swift: "braces"
}

const number = String.raw`\b(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`
const word = String.raw`[A-Za-z_$][\w$]*`

const patterns = new Map<string, RegExp>()

const patternOf = (name: string, { comments, texts }: Language): RegExp => {
  const known = patterns.get(name)
  if (known !== undefined) return known
  const group = (label: string, parts: ReadonlyArray<string>): ReadonlyArray<string> =>
    parts.length === 0 ? [] : [`(?<${label}>${parts.join("|")})`]
  const source = [
    ...group("comment", comments),
    ...group("text", texts),
    ...group("number", [number]),
    ...group("word", [word])
  ].join("|")
  const made = new RegExp(source, "gm")
  patterns.set(name, made)
  return made
}

/** A longer text is not cut: a page would have too many elements. */
const longest = 20_000

/** Cuts a code into pieces. All pieces together are the code. */
export const highlight = (code: string, name: string): ReadonlyArray<Piece> => {
  const key = Object.hasOwn(names, name.toLowerCase()) ? names[name.toLowerCase()]! : undefined
  if (key === undefined || code.length > longest) return [{ look: "plain", text: code }]
  const language = languages[key]!
  const pieces: Array<Piece> = []
  let plain = ""
  let at = 0
  const add = (look: Look, text: string): void => {
    if (plain !== "") pieces.push({ look: "plain", text: plain })
    plain = ""
    pieces.push({ look, text })
  }
  for (const match of code.matchAll(patternOf(key, language))) {
    const [text] = match
    plain += code.slice(at, match.index)
    at = match.index + text.length
    const { groups = {} } = match
    if (groups["comment"] !== undefined) add("comment", text)
    else if (groups["text"] !== undefined) add("text", text)
    else if (groups["number"] !== undefined) add("number", text)
    else if (language.words.has(language.ignoresCase === true ? text.toLowerCase() : text)) add("word", text)
    else plain += text
  }
  plain += code.slice(at)
  if (plain !== "") pieces.push({ look: "plain", text: plain })
  return pieces
}
