/**
 * The second line behind projections: what is taken out of text that a tool declared for others, and, if switched on, out
 * of tool results. The first line is that nothing undeclared is shown at all.
 *
 * The rules know formats, not meanings: what has no format, such as a short password in a sentence, they cannot find.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/** What is taken out: everything that `pattern` (with the flag `g`) matches, if `when` agrees. */
export interface Rule {
  /** Stands in the text in place of what was taken out. */
  readonly kind: string
  readonly pattern: RegExp
  readonly when?: (match: string) => boolean
}

/** Takes out of texts what must not be shown. */
export interface Redactor {
  readonly text: (text: string) => string
  /** Whether results of tools are gone through as well. */
  readonly results: boolean
}

/** Bits of entropy for each character of a text (Shannon). */
export const entropy = (text: string): number => {
  const counts = new Map<string, number>()
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

const hasLetterAndDigit = (text: string): boolean => /\d/.test(text) && /[a-z]/i.test(text)

const isUuid = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

/**
 * Token formats as their issuers document them and secret scanners (gitleaks, detect-secrets) look for them, and two
 * rules by entropy with the thresholds of detect-secrets: base64 4.5 bits, hex 3.0 bits.
 */
export const secrets: ReadonlyArray<Rule> = [
  {
    kind: "private key",
    pattern: /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/g
  },
  { kind: "credentials", pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{0,200}:[^\s/@]{1,200}@[^\s"')]*/gi },
  { kind: "token", pattern: /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g },
  { kind: "token", pattern: /\b(?:bearer|basic)\s+[\w.~+/-]{8,}=*/gi },
  { kind: "aws key", pattern: /\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b/g },
  { kind: "github token", pattern: /\b(?:gh[pousr]_[0-9A-Za-z]{36,}|github_pat_\w{22,})/g },
  { kind: "gitlab token", pattern: /\bgl(?:pat|dt|rt|ptt|soat|cbt|agent)-[\w-]{20,}/g },
  { kind: "slack token", pattern: /\bx(?:ox[abeoprs]|app)-[\w-]{10,}/g },
  { kind: "slack webhook", pattern: /https:\/\/hooks\.slack\.com\/[\w/]+/g },
  { kind: "stripe key", pattern: /\b(?:sk|rk|whsec)_(?:test_|live_|prod_)?[0-9A-Za-z]{16,}/g },
  { kind: "api key", pattern: /\bsk-[\w-]{16,}/g },
  { kind: "google key", pattern: /\bAIza[\w-]{35}/g },
  { kind: "google token", pattern: /\bya29\.[\w-]{20,}/g },
  { kind: "npm token", pattern: /\bnpm_[0-9A-Za-z]{36}/g },
  { kind: "pypi token", pattern: /\bpypi-[\w-]{50,}/g },
  { kind: "hugging face token", pattern: /\bhf_[A-Za-z]{30,}/g },
  { kind: "sendgrid key", pattern: /\bSG\.[\w-]{16,}\.[\w-]{16,}/g },
  { kind: "telegram token", pattern: /\b\d{8,10}:AA[\w-]{33}/g },
  {
    kind: "secret",
    pattern:
      /\b[\w.-]{0,50}(?:passw(?:or)?d|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|auth|credential)s?["']?\s*(?:=|:|:=|=>)\s*["']?[^\s"',;&]{3,}/gi
  },
  { kind: "secret", pattern: /\b[0-9a-f]{32,}\b/gi, when: (text) => hasLetterAndDigit(text) && entropy(text) > 3 },
  {
    kind: "secret",
    pattern: /[\w+/=-]{24,}/g,
    when: (text) => hasLetterAndDigit(text) && !isUuid(text) && entropy(text) > 4.5
  }
]

/** Addresses that only the inside knows: RFC 1918, RFC 4193, loopback, link local, and names that end like them. */
export const privateAddresses: ReadonlyArray<Rule> = [
  {
    kind: "address",
    pattern:
      /\b(?:10|127)(?:\.\d{1,3}){3}(?::\d+)?\b|\b(?:192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2}(?::\d+)?\b/g
  },
  { kind: "address", pattern: /\bf[cde][0-9a-f]{2}:[0-9a-f:]{2,}/gi },
  { kind: "address", pattern: /(?<![\w:])::1\b/g },
  { kind: "address", pattern: /\blocalhost(?::\d+)?\b/gi },
  {
    kind: "address",
    pattern: /\b[a-z0-9](?:[a-z0-9-]{0,62}\.){1,8}(?:internal|local|intranet|corp|lan|svc)\b(?::\d+)?/gi
  }
]

/** Statements of SQL. */
export const sql: ReadonlyArray<Rule> = [
  {
    kind: "sql",
    pattern:
      /\bselect\s[^;]{1,400}?\sfrom\s+[\w."`[\]]+(?=\s*$|\s*;|\s+(?:where|join|inner|left|right|full|cross|natural|order|group|having|limit|union|as)\b)[^\n]*/gim
  },
  {
    kind: "sql",
    pattern:
      /\b(?:insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|(?:create|drop|alter|truncate)\s+(?:table|index|view|database|schema)\s)[^\n]*/gi
  }
]

/** Frames of stack traces: JavaScript, Python, Java. */
export const stackTraces: ReadonlyArray<Rule> = [
  { kind: "stack", pattern: /^[ \t]*at\s+\S[^\n]*$/gm },
  { kind: "stack", pattern: /\bat\s(?:async\s)?[\w$.<>[\] ]{0,80}\(?[^\s()]{1,300}:\d+:\d+\)?/g },
  { kind: "stack", pattern: /^[ \t]*File "[^"]+", line \d+[^\n]*$/gm },
  { kind: "stack", pattern: /^Traceback \(most recent call last\):$/gm }
]

/** Absolute paths of files: at least two parts, or a drive. */
export const filePaths: ReadonlyArray<Rule> = [
  { kind: "path", pattern: /\bfile:\/\/[^\s"')]+/gi },
  { kind: "path", pattern: /(?<![\w/:.])\/(?:[\w.@~+-]+\/)+[\w.@~+-]*/g },
  { kind: "path", pattern: /\b[a-z]:\\[^\s"'<>|]+/gi },
  { kind: "path", pattern: /\\\\[\w.-]+\\[^\s"'<>|]+/g }
]

/** All rules of this page, in the order in which they apply. */
export const rules: ReadonlyArray<Rule> = [...stackTraces, ...secrets, ...sql, ...privateAddresses, ...filePaths]

/**
 * Makes a redactor of rules.
 *
 * **Example** (What is taken out)
 *
 * ```ts
 * import { Redaction } from "@recourse/core"
 *
 * const { text } = Redaction.make()
 * text("cannot connect to postgres://root:hunter2@10.0.0.7/crm") // => "cannot connect to [redacted: credentials]"
 * text("no order 4711 in /srv/app/orders.json") // => "no order 4711 in [redacted: path]"
 * text("There is no customer Ada") // => "There is no customer Ada"
 * ```
 */
export const make = (
  options?: { readonly rules?: ReadonlyArray<Rule> | undefined; readonly results?: boolean | undefined }
): Redactor => {
  const all = options?.rules ?? rules
  return {
    results: options?.results ?? false,
    text: (text) =>
      all.reduce(
        (left, { kind, pattern, when }) =>
          left.replace(pattern, (match) => when === undefined || when(match) ? `[redacted: ${kind}]` : match),
        text
      )
  }
}

/** The redactor that runs use. By default all rules, on declared text only. */
export const Redaction: Context.Reference<Redactor> = Context.Reference<Redactor>("@recourse/core/Redaction", {
  defaultValue: () => make()
})

/** A layer of another redactor. */
export const layer = (redactor: Redactor): Layer.Layer<never> => Layer.succeed(Redaction, redactor)

/** Goes through all texts of a JSON value. */
export const json = (redactor: Redactor, value: unknown): unknown => {
  if (typeof value === "string") return redactor.text(value)
  if (Array.isArray(value)) return value.map((item) => json(redactor, item))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redactor.text(key), json(redactor, item)]))
}
