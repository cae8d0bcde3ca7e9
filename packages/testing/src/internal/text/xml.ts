/**
 * Escapes text for XML. `effect/encoding/Xml` encodes the events of a whole document; a report or a chart escapes single texts.
 */

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&apos;"
}

/** True if XML 1.0 has the character at all (https://www.w3.org/TR/xml/#charsets). */
const isAllowed = (char: string): boolean => {
  const code = char.codePointAt(0)!
  return code === 9 || code === 10 || code === 13 || (code >= 32 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd) || code >= 0x10000
}

/** Escapes text for content and attributes; characters outside of XML become U+FFFD. */
export const escapeXml = (text: string): string =>
  Array.from(text, (char) => isAllowed(char) ? entities[char] ?? char : "\ufffd").join("")
