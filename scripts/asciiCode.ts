/**
 * Code in ASCII. An engine keeps a file with one other letter as two bytes for each letter, and takes longer to read all of it. An escape
 * means the same in strings, patterns, names and templates, except for a tagged template, whose tag sees it.
 */
import { type Plugin, RolldownMagicString } from "rolldown"
import { parseSync, Visitor } from "rolldown/utils"

/** Letters outside of ASCII. */
const others = /[^\0-\x7f]/gu

/** The escapes of a letter's UTF-16 units. */
const escaped = (letter: string): string =>
  letter.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")

/** Fails if a tag would see an escape. */
const checkTags = (code: string): void =>
  new Visitor({
    TaggedTemplateExpression: ({ end, start }) => {
      const text = code.slice(start, end)
      if (text.search(others) >= 0) throw new Error(`Write an escape instead of the letter: ${text}`)
    }
  }).visit(parseSync("chunk.js", code).program)

/** Escapes the letters of each file. */
export const asciiCode: Plugin = {
  name: "code in ASCII",
  renderChunk(code) {
    const letters = [...code.matchAll(others)]
    if (letters.length === 0) return
    checkTags(code)
    const text = new RolldownMagicString(code)
    for (const { 0: letter, index } of letters) text.overwrite(index, index + letter.length, escaped(letter))
    return { code: text.toString(), map: text.generateMap({ hires: true }).toString() }
  }
}
