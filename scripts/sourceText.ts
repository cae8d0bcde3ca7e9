/** Text of a source file in two parts: its comments, and its code without them. */

/**
 * A string, a template, a regular expression or a comment. The first that begins wins: a string may hold `/*`, and a
 * comment a quotation mark.
 */
const token = new RegExp(
  [
    /"(?:\\.|[^"\\\n])*"/,
    /'(?:\\.|[^'\\\n])*'/,
    /`(?:\\[^]|\$\{(?:"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|\{[^{}`]*\}|[^{}`"])*\}|[^`\\])*`/,
    /(?<comment>\/\*[^]*?\*\/|\/\/.*)/,
    /(?<=(?:^|[=(,:!&|?{};[>]|\breturn)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//
  ].map(({ source }) => source).join("|"),
  "g"
)

/** Returns the comments of a source, with their marks. */
export const commentsIn = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(token)].flatMap(({ groups }) => groups?.["comment"] ?? [])

/** Returns a source without its comments. */
export const codeIn = (source: string): string =>
  source.replaceAll(token, (whole, comment: string | undefined) => comment === undefined ? whole : "")
