/** Spellings of a name: `tool.timeout`, `network-error`, `networkError` and `RATE_LIMITED` are names with an underscore. */

/** A name in one spelling: words in lower case with underscores between them. */
const spelt = (name: string): string =>
  name.replaceAll(/([a-z\d])([A-Z])/g, "$1_$2").replaceAll(/[^\p{L}\p{N}]+/gu, "_").toLowerCase()

/** Names of other tools for the same thing. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["rate_limited", "rate_limit"],
  ["timed_out", "timeout"],
  ["timeout_after_side_effect", "timeout_after_commit"],
  ["network_error_after_side_effect", "network_error_after_commit"],
  ["prompt_injection_in_result", "prompt_injection"]
])

/**
 * Returns the intended name among `known`: the one with this spelling, else the only one that differs only in spelling.
 * `prefix` may precede it.
 */
export const meant = <Name extends string>(
  name: string,
  known: ReadonlyArray<Name>,
  prefix?: string
): Name | undefined => {
  const written = known.find((other) => other === name)
  if (written !== undefined) return written
  const words = spelt(name)
  const rest = prefix !== undefined && words.startsWith(`${prefix}_`) ? words.slice(prefix.length + 1) : words
  for (const candidate of [words, rest, synonyms.get(rest)]) {
    const same = known.filter((other) => spelt(other) === candidate)
    if (same.length > 0) return same.length === 1 ? same[0] : undefined
  }
  return undefined
}
