/** Replacing texts everywhere in a value: as they are, and as JSON and JSON within JSON write them. */
import { type Edit, inPieces, trimmed } from "./edits.ts"
import { jsonIn, type Secret } from "./secrets.ts"
import { mapTexts } from "./texts.ts"

/** A secret, and its replacement. */
export interface Replacement {
  readonly secret: Secret
  readonly placeholder: string
}

/** A text in its quoted JSON form. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Depth of the search for JSON within texts that are not JSON as a whole. */
const levels = 4

/** Each secret in its possible spellings, with its replacement. The longest come first. */
const formsOf = (replacements: ReadonlyArray<Replacement>): ReadonlyMap<string, string> => {
  const forms = new Map<string, string>()
  for (const { placeholder, secret } of replacements) {
    if (secret.name !== undefined) continue
    let [from, to] = [secret.value, placeholder]
    for (let level = 0; level < levels; level++) {
      if (!forms.has(from)) forms.set(from, to)
      ;[from, to] = [escaped(from), escaped(to)]
    }
  }
  return new Map([...forms].toSorted(([a], [b]) => b.length - a.length))
}

/** A replacer of secrets. */
export interface Replacer {
  readonly value: (value: unknown) => unknown
  /** Pieces of one text. If that is cut, the beginning of a secret at its end is replaced as well. */
  readonly pieces: (pieces: ReadonlyArray<string>, isCut: boolean) => ReadonlyArray<string>
}

/** Length of a secret's beginning that identifies it. */
const telling = 4

/**
 * Replaces secrets everywhere. A text that is JSON stays JSON: it is changed within its texts. If the run has measured
 * texts, the beginning of a secret before a `…` is replaced by that of its placeholder.
 */
export const replacer = (
  replacements: ReadonlyArray<Replacement>,
  options: { readonly measured: boolean }
): Replacer => {
  const forms = formsOf(replacements)
  const pattern = forms.size === 0
    ? undefined
    : new RegExp(
      [...forms.keys()].map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)).join("|"),
      "g"
    )
  const named = new Map(
    replacements.flatMap(({ placeholder, secret: { name, value } }) =>
      name === undefined ? [] : [[JSON.stringify([name, value]), placeholder]]
    )
  )

  /** The edit of the beginning of a secret with which a part of a text ends. */
  const beginning = (text: string, end: number, shorter: (placeholder: string, length: number) => string) => {
    for (const [form, placeholder] of forms) {
      for (let length = Math.min(form.length - 1, end); length >= telling; length--) {
        if (text.startsWith(form.slice(0, length), end - length)) {
          return [{ start: end - length, end, text: shorter(placeholder, length) }]
        }
      }
    }
    return []
  }

  const inWords = (text: string, isCut: boolean): ReadonlyArray<Edit> => {
    if (pattern === undefined) return []
    const edits = Array.from(text.matchAll(pattern), ({ 0: match, index }) => ({
      start: index,
      end: index + match.length,
      text: forms.get(match)!
    }))
    const last = isCut
      ? beginning(text, text.length, (placeholder) => placeholder)
      : options.measured && text.endsWith("…")
      ? beginning(text, text.length - 1, (placeholder, length) => placeholder.slice(0, length))
      : []
    const from = edits.at(-1)?.end ?? 0
    return [...edits, ...last.filter(({ start }) => start >= from)]
  }

  /** Edits in the quoted texts of a JSON text. */
  const inJson = (text: string, outer: string | undefined): ReadonlyArray<Edit> => {
    const edits: Array<Edit> = []
    const names: Array<string | undefined> = []
    let name = outer
    for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
      const end = index + token.length
      if (token === "{" || token === "[") names.push(name)
      else if (token === "}" || token === "]") name = names.pop()
      else {
        const quoted = JSON.parse(token) as string
        const isKey = /^\s*:/.test(text.slice(end, end + 80))
        const shown = inText(quoted, isKey ? undefined : name)
        if (shown !== quoted) edits.push(trimmed({ start: index + 1, end: end - 1, text: escaped(shown) }, text))
        if (isKey) name = quoted
      }
    }
    return edits
  }

  const editsOf = (text: string, name: string | undefined, isCut: boolean): ReadonlyArray<Edit> => {
    const placeholder = forms.get(text) ?? (name === undefined ? undefined : named.get(JSON.stringify([name, text])))
    if (placeholder !== undefined) return [{ start: 0, end: text.length, text: placeholder }]
    return jsonIn(text) === undefined ? inWords(text, isCut) : inJson(text, name)
  }

  const inText = (text: string, name?: string): string => {
    const edits = editsOf(text, name, false)
    return edits.length === 0 ? text : inPieces([text], edits)[0]!
  }

  return {
    value: (value) => mapTexts(value, inText),
    pieces: (pieces, isCut) => inPieces(pieces, editsOf(pieces.join(""), undefined, isCut))
  }
}
