/**
 * Literal backslashes: Windows paths, patterns. JSON reads `\t` in `"C:\temp"` as a tab, and `jsonrepair` drops the
 * backslash of `\d`.
 */

/** A string in double quotes. If it is cut off, it ends at the end of the text. */
const string = /"((?:[^"\\]|\\[^])*)("|$)/g

/** A drive or a host, with single backslashes behind it: `C:\temp`, `\\server\share`. */
const windowsPath = /^(?:[a-z]:\\(?![\\"])|\\\\[\w.-]+\\(?![\\"]))/i

/** One escape, or a pair of backslashes. */
const escape = /\\(?:u[0-9a-f]{4}|[^])/gi

const isKnown = (escaped: string): boolean => /\\(?:["\\/bfnrt'`\n]|u.)/i.test(escaped)

const isControl = (escaped: string): boolean => /\\[bfnrt]/.test(escaped)

/** Doubles each single backslash; quotes stay escaped. */
const literal = (content: string): string =>
  content.replace(escape, (found) => found === "\\\\" || found === "\\\"" ? found : `\\${found}`)

/**
 * Doubles the backslashes of strings that mean them. `undefined` if it is ambiguous: if a string contains an escape
 * that JSON does not have (`\d`) together with one that it has (`\n`).
 */
export const withLiteralBackslashes = (text: string): string | undefined => {
  let isAmbiguous = false
  const replaced = text.replace(string, (whole, content: string, quote: string) => {
    if (windowsPath.test(content)) {
      const host = content.startsWith("\\\\") ? "\\\\" : ""
      return `"${host}${literal(content)}${quote}`
    }
    const escapes = content.match(escape) ?? []
    if (escapes.every(isKnown)) return whole
    if (escapes.some(isControl)) isAmbiguous = true
    return `"${literal(content)}${quote}`
  })
  return isAmbiguous ? undefined : replaced
}
