/**
 * Exact texts: text of a model or a tool may contain invisible characters, or ones that change the direction of their
 * neighbours. A deciding person would read another text than the used one. They are written out in JSON's form.
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

/** A text in a line of its own: quoted if it has spaces at its ends, or invisible characters. */
export const quoted = (text: string): string =>
  text === text.trim() && !/\p{Cc}/u.test(text.replaceAll("\n", "")) && seen(text) === text
    ? text
    : seen(JSON.stringify(text))

/**
 * A text for a line, such as a title: invisible and direction-changing characters are removed, and each kind of space
 * is one space. Use {@link seen} if a person decides about a text.
 */
export const visible = (text: string): string =>
  text.replaceAll(/[\s\p{Zs}]+/gu, " ").replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim()
