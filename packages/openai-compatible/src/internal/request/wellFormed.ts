/** Well-formed JSON: half of a surrogate pair, which strict servers refuse, is written as U+FFFD. */

/** `JSON.stringify` escapes only halves of pairs in this form; an escaped backslash before `u` is text. */
const escapes = /\\\\|\\ud[89a-f][0-9a-f]{2}/g

/** The JSON of a value; `undefined` for a value without a JSON text. */
export const stringify = (value: unknown): string | undefined => {
  const text = JSON.stringify(value) as string | undefined
  return text === undefined || !text.includes("\\ud")
    ? text
    : text.replaceAll(escapes, (escape) => escape === "\\\\" ? escape : "\ufffd")
}
