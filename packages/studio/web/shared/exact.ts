/**
 * Exact texts: what a model or a tool writes may hold characters that cannot be seen, or that turn the direction of those around them.
 * Whoever decides about it would read another text than the one that is used. They are written out, as JSON has them.
 */

const unseen = /[\p{Cf}\p{Zl}\p{Zp}\u007f-\u009f]/gu

const escape = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
  ).join("")

/** A text whose characters can all be seen. JSON stays the same JSON. */
export const seen = (text: string): string => text.replaceAll(unseen, escape)

/** A value as JSON over several lines; a text as it is. */
export const exact = (value: unknown): string =>
  seen(typeof value === "string" ? value : JSON.stringify(value, undefined, 2) ?? "nothing")

/** A text in a line of its own: in quotes where spaces stand at its ends, or what cannot be seen stands in it. */
export const quoted = (text: string): string =>
  text === text.trim() && !/\p{Cc}/u.test(text.replaceAll("\n", "")) && seen(text) === text
    ? text
    : seen(JSON.stringify(text))

/**
 * A text for a line, such as a title: characters that cannot be seen or turn the direction are left out, and each kind of space is one space. Use
 * {@link seen} where somebody decides about a text.
 */
export const visible = (text: string): string =>
  text.replaceAll(/[\s\p{Zs}]+/gu, " ").replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim()
