/**
 * Code in ASCII. An engine keeps a file with one other letter as two bytes for each letter, and takes longer to read all of it. An escape
 * means the same in strings, patterns, names and templates, except for a tagged template, whose tag sees it.
 */
import type { Plugin } from "rolldown"
import { parseSync, Visitor } from "rolldown/utils"

/** Letters outside of ASCII, as UTF-16 units. */
const others = /[^\0-\x7f]/g

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Fails if a tag would see an escape. */
const checkTags = (code: string): void =>
  new Visitor({
    TaggedTemplateExpression: ({ end, start }) => {
      const text = code.slice(start, end)
      if (text.search(others) >= 0) throw new Error(`Write an escape instead of the letter: ${text}`)
    }
  }).visit(parseSync("chunk.js", code).program)

/**
 * Escapes the letters of each file. Maps keep their lines; their columns behind a letter in its line are those of the code with letters: a
 * map of the escapes would double the maps.
 */
export const asciiCode: Plugin = {
  name: "code in ASCII",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== "chunk" || file.code.search(others) < 0) continue
      checkTags(file.code)
      file.code = file.code.replace(others, escaped)
    }
  }
}
