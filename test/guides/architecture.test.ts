/** The questions of docs/architecture.md: their files are found by the page, and by a search for the word. */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"

const root = join(import.meta.dirname, "../..")
const read = (file: string): string => readFileSync(join(root, file), "utf8")
const sources = globSync("packages/core/src/**/*.ts", { cwd: root }).map((path) => ({ path, text: read(path) }))

/** Files whose name, or the name of a declaration in them, has a word. */
const named = (word: string): ReadonlyArray<string> => {
  const declaration = new RegExp(`\\b(?:const|class|interface|type|function) \\w*${word}`, "i")
  return sources.filter(({ path, text }) =>
    basename(path).toLowerCase().includes(word.toLowerCase()) || declaration.test(text)
  ).map(({ path }) => path)
}

const questions = [...read("docs/architecture.md").matchAll(/^\| (… [^|]+?) +\| `(\w+)` +\| (.+?) +\|$/gm)].map(
  ([, question, word, files]) => ({
    question: question!,
    word: word!,
    files: [...files!.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, file]) => file!)
  })
)

describe("the questions of docs/architecture.md", () => {
  it("are at least twenty", () => assert.isAtLeast(questions.length, 20))

  for (const { files, question, word } of questions) {
    it(`finds a file by the word: ${question}`, () => {
      const candidates = named(word)
      assert.isAtMost(candidates.length, 20, word)
      assert.isTrue(files.some((file) => candidates.some((path) => path === file || path.startsWith(`${file}/`))), word)
    })
  }
})
