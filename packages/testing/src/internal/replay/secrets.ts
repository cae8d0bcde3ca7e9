/** Secrets of a recording: matches of rules, and the texts under the user's field names. */
import type { Redaction } from "@recourse/core"
import { mapContent } from "./content.ts"
import type { Recording } from "./recording.ts"

/** A text that is to go from a recording. */
export interface Secret {
  readonly kind: string
  readonly value: string
  /** Set for a short text that is redacted only if it is the whole value under this name. */
  readonly name?: string
}

/** Below that, a text is a part of many others. */
const shortest = 4

const isPlaceholder = (text: string): boolean => /^\[redacted: [^\]]*\]$/.test(text)

/** The object, the list or the text that a text is the JSON of. */
export const jsonIn = (text: string): unknown => {
  if (!/^\s*["[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Text before a secret in a rule's match: its name, or its use. */
const before: ReadonlyArray<RegExp> = [
  /^[^\s:=：<>]{1,80}?["'`\\]{0,4}\s{0,5}(?::=|=>|[:=：]|%3[AD])\s{0,5}["'`\\]*([\s\S]+?)["'`\\]*$/i,
  /^(?:[\w-]{1,40}\s{1,5}(?:(?:is|was)\s{1,3})?|<[^<>]{1,80}>|-{1,2}\w{1,4}[ =]{1,3})["'`]?(\S+)$/i
]

/** Kinds whose rules also match the text before a secret. */
const introduced: ReadonlySet<string> = new Set(["secret", "cookie", "token", "credentials"])

const withoutName = (kind: string, match: string): string => {
  if (!introduced.has(kind) || /^\w[\w+.-]*:\/\//.test(match)) return match
  const found = before.map((pattern) => pattern.exec(match)?.[1]).find((value) => value !== undefined)
  return found === undefined || found.length < shortest ? match : found
}

/** Matches of rules in a text, and the text without them. */
const scan = (rules: ReadonlyArray<Redaction.Rule>, text: string) => {
  const found: Array<Secret> = []
  let left = text
  for (const { kind, pattern, when } of rules) {
    left = left.replace(pattern, (match: string) => {
      if (when?.(match) === false) return match
      // It may contain an earlier rule's redaction.
      for (const value of match.split(/\[redacted: [^\]]*\]/)) found.push({ kind, value: withoutName(kind, value) })
      return `[redacted: ${kind}]`
    })
  }
  return { found, left }
}

/** Redactions of a text by an opaque redactor. */
const taken = (redactor: Redaction.Redactor, text: string): ReadonlyArray<Secret> => {
  const shown = redactor.text(text)
  if (shown === text) return []
  let start = 0
  while (start < shown.length && shown[start] === text[start]) start++
  let end = 0
  while (end < Math.min(shown.length, text.length) - start && shown.at(-1 - end) === text.at(-1 - end)) end++
  return [{ kind: "secret", value: text.slice(start, text.length - end) }]
}

/** Ids of the recording, the longest first. */
const idsOf = (recording: Recording): ReadonlyArray<string> => {
  const ids = new Set<string>()
  for (const event of recording.events) {
    for (const [key, value] of Object.entries(event)) {
      if (typeof value === "string" && /(?:[iI]d|Hash|entry)$/.test(key)) ids.add(value)
    }
  }
  for (const { callId } of recording.executions) ids.add(callId)
  return [...ids].filter((id) => id.length >= 8).toSorted((a, b) => b.length - a.length)
}

/** Subject of a search. */
export interface Search {
  readonly rules: ReadonlyArray<Redaction.Rule>
  /** The program's own redactor, if it has one. */
  readonly redactor: Redaction.Redactor | undefined
  readonly fields: ReadonlyArray<string>
}

/** All secrets in the content of a recording, in the order in which they come. */
export const secretsIn = (recording: Recording, { fields, redactor, rules: given }: Search): ReadonlyArray<Secret> => {
  const rules = [...(redactor?.rules ?? []), ...given]
  const opaque = redactor !== undefined && redactor.rules === undefined ? redactor : undefined
  const ids = idsOf(recording)
  const secrets = new Map<string, Secret>()

  const add = ({ kind, value }: Secret, name?: string) => {
    if (value.trim() === "" || isPlaceholder(value)) return
    if (value.length >= shortest) secrets.set(value, secrets.get(value) ?? { kind, value })
    else if (name !== undefined) secrets.set(JSON.stringify([name, value]), { kind, value, name })
  }

  const fieldOf = (path: ReadonlyArray<string>) => {
    const at = `.${path.join(".")}.`
    return fields.find((field) => at.includes(`.${field}.`))
  }

  const search = (text: string, name?: string) => {
    const bare = ids.reduce((left, id) => left.replaceAll(id, "id"), text)
    const { found } = scan(rules, bare)
    const all = [...(opaque === undefined ? [] : taken(opaque, bare)), ...found]
    for (const secret of all) if (text.includes(secret.value)) add(secret)
    if (all.length > 0 || name === undefined || name.length > 64 || bare.length > 512 || isPlaceholder(bare)) return
    const named = scan(rules, `${name}=${bare}`)
    const [first] = named.found
    if (first !== undefined && !named.left.includes(bare)) add({ kind: first.kind, value: text }, name)
  }

  const inText = (text: string, path: ReadonlyArray<string>) => {
    const field = fieldOf(path)
    if (field !== undefined) return add({ kind: field.split(".").at(-1)!, value: text }, path.at(-1))
    const json = jsonIn(text)
    return json === undefined ? search(text, path.at(-1)) : walk(json, path)
  }

  const seen = new Set<object>()
  const walk = (value: unknown, path: ReadonlyArray<string>): void => {
    if (typeof value === "string") return inText(value, path)
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || seen.has(value)) return
    seen.add(value)
    if (Array.isArray(value) || value instanceof Set) {
      for (const item of value) walk(item, path)
    } else if (value instanceof Map) {
      for (const entry of value) walk(entry, path)
    } else {
      for (const [key, item] of Object.entries(value)) {
        search(key)
        if (key !== "_tag") walk(item, [...path, key])
      }
    }
  }

  // A request consists of earlier texts, and the words of the program.
  mapContent({ ...recording, modelCalls: recording.modelCalls.map((call) => ({ ...call, request: "" })) }, {
    value: (value) => {
      walk(value, [])
      return value
    },
    pieces: (pieces) => {
      inText(pieces.join(""), [])
      return pieces
    }
  })
  return [...secrets.values()]
}
