/** `docs/mistakes.md`: mistakes of first programs with their messages, which are read here from the compiler and from runs. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { clean, messages } from "../types/compiler.ts"
import { agentsAndTools } from "./mistakes/agentsAndTools.ts"
import { chats } from "./mistakes/chats.ts"
import { executors } from "./mistakes/executors.ts"
import { installing } from "./mistakes/installing.ts"
import { header, type Mistake, textOf } from "./mistakes/mistake.ts"
import { models } from "./mistakes/models.ts"
import { page, type Row } from "./mistakes/page.ts"
import { servers } from "./mistakes/servers.ts"

const sections = [
  ["Agents and tools", agentsAndTools],
  ["Executors and recovery", executors],
  ["Models", models],
  ["Chats and approvals", chats],
  ["Servers", servers],
  ["Installation", installing]
] as const

const all: ReadonlyArray<Mistake> = sections.flatMap(([, mistakes]) => mistakes)

/** The first line of the first message of the compiler about each mistake. */
const compiled = (): ReadonlyMap<Mistake, string | undefined> => {
  const found = new Map<Mistake, string | undefined>()
  for (const [manifest, mistakes] of Map.groupBy(all, ({ manifest }) => manifest)) {
    const declarations = manifest === undefined ? header : "import { Effect } from \"effect\"\n"
    const programs = mistakes.map(({ wrote }) => `${declarations}export const program = ${wrote}\n`)
    const said = messages("mistakes", programs, ["node"], manifest)
    clean("mistakes")
    mistakes.forEach((mistake, at) => void found.set(mistake, said[at]![0]?.split("\n", 1)[0]))
  }
  return found
}

const read = Effect.gen(function*() {
  const compilers = compiled()
  const found: Array<readonly [string, ReadonlyArray<Row>]> = []
  for (const [title, mistakes] of sections) {
    const rows = yield* Effect.forEach(
      mistakes as ReadonlyArray<Mistake>,
      (mistake) => Effect.map(textOf(mistake), (run): Row => ({ ...mistake, run, compiler: compilers.get(mistake) }))
    )
    for (const { compiler, run, wrote } of rows) assert.isTrue(compiler !== undefined || run !== undefined, wrote)
    found.push([title, rows])
  }
  return page(found)
})

describe("mistakes of first programs", () => {
  it("have the messages of docs/mistakes.md", async () => {
    await expect(await Effect.runPromise(read)).toMatchFileSnapshot("../../docs/mistakes.md")
  }, 120_000)

  it("are at least the 27 of the table", () => {
    assert.isAtLeast(new Set(all.map(({ when, wrote }) => `${when} ${wrote}`)).size, 27)
  })
})
