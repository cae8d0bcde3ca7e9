/**
 * The sentence of a message of the compiler. The library writes its reasons as texts within types, which the compiler quotes at the
 * end of a long message. Without such a text it is the innermost line.
 */
export const sentenceOf = (message: string): string => {
  const sentences = [...message.matchAll(/"((?:[^"\\]|\\.)+)"/g)].map(([, text]) => text!).filter((text) =>
    /^\S+(?: \S+){3}/.test(text)
  )
  return sentences.at(-1) ?? message.split("\n").at(-1)!.trim()
}
