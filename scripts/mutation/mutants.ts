/** Mutants of source files: found by Stryker's instrumenter, and put into the code behind a switch when Vite loads a file. */
import { readFileSync, writeFileSync } from "node:fs"
import { type NodePath, types as t } from "@babel/core"
import { Instrumenter } from "@stryker-mutator/instrumenter"
import type { Plugin } from "vitest/config"
import type { Job, Mutant } from "./job.ts"
import { withReach } from "./reach.ts"

const silent = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  fatal: () => {}
}

type Ignorer = Parameters<Instrumenter["instrument"]>[1]["ignorers"][number]

/** Code without detectable changes. */
const unnoticed: Ignorer = {
  shouldIgnore: ({ node }: NodePath) =>
    t.isObjectExpression(node) && node.properties.length === 1 && isNamed(node.properties[0], "discard")
      ? "`discard: true` is about memory"
      : t.isBlockStatement(node) && node.body.length === 1 && isUndefined(node.body[0])
      ? "a block without a result is the empty block"
      : undefined
}

const isNamed = (node: t.Node | undefined, name: string): boolean =>
  t.isObjectProperty(node) && t.isIdentifier(node.key, { name })

const isUndefined = (node: t.Node | undefined): boolean =>
  t.isReturnStatement(node) && t.isIdentifier(node.argument, { name: "undefined" })

interface Position {
  readonly line: number
  readonly column: number
}

const textBetween = (lines: ReadonlyArray<string>, start: Position, end: Position): string => {
  const picked = lines.slice(start.line, end.line + 1)
  picked[picked.length - 1] = picked.at(-1)!.slice(0, end.column)
  picked[0] = picked[0]!.slice(start.column)
  return picked.join("\n")
}

/** Vite's plugin that loads the files of the job with all their mutants in them; it writes the list of these. */
export const mutated = async (job: Job): Promise<Plugin> => {
  const sources = new Map(job.files.map((file) => [file, readFileSync(file, "utf8")]))
  const { files, mutants } = await new Instrumenter(silent).instrument(
    [...sources].map(([name, content]) => ({ name, content, mutate: true })),
    // Text of a message is not a rule; tests of texts hold the ones that are.
    { plugins: null, excludedMutations: ["StringLiteral"], ignorers: [unnoticed] }
  )
  const contents = new Map(files.map(({ content, name }) => [name, withReach(content)]))
  const listed = mutants.filter(({ status }) => status !== "Ignored").map((mutant): Mutant => {
    const lines = sources.get(mutant.fileName)!.split("\n")
    const { end, start } = mutant.location
    return {
      id: mutant.id,
      file: mutant.fileName,
      line: start.line + 1,
      column: start.column + 1,
      mutator: mutant.mutatorName,
      original: textBetween(lines, start, end),
      replacement: mutant.replacement,
      context: lines[start.line]!.trim()
    }
  })
  writeFileSync(job.mutantsFile, JSON.stringify(listed))
  return { name: "mutants", enforce: "pre", load: (id) => contents.get(id.split("?")[0]!) }
}
