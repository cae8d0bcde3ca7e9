/** Cuts text to a limit. */

/** Returns the beginning of a text, with `…` at the cut; no character is cut in half. */
export const cutText = (text: string, length: number): string => {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)}…`
}
