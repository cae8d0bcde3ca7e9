/** Measures a checkout by the definitions. */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assignmentsOf } from "./assignments.ts"
import { doneBefore, grammar, lengthRule, type Measured, rooms, schemes, wayOfCall } from "./definitions.ts"
import { holdersOf, shapesOf, sharedHolders } from "./holders.ts"
import { codeOf, parse, type Source, sourcesOf, walk } from "./source.ts"

const core = "packages/core/src"

const isIn = (names: ReadonlyArray<string>) => ({ path }: Source): boolean =>
  names.some((name) => path.replaceAll("\\", "/").startsWith(`${core}/internal/${name}/`))

/** Functions that compose an address. */
const grammarsOf = ({ path, text }: Source): ReadonlyArray<string> => {
  const found = new Set<string>()
  walk(parse(text), (node, enclosing) => {
    if (node.type !== "TemplateLiteral") return
    const composes = node.expressions.slice(0, -1).some((part, n) =>
      grammar.around.test(text.slice(part.start!, part.end!)) && grammar.separator.test(node.quasis[n + 1]!.value.raw)
    )
    if (composes) found.add(`${path} ${enclosing ?? ""}`)
  })
  return [...found]
}

const usesIn = ({ text }: Source): ReadonlyArray<string> => {
  const code = codeOf(text).replaceAll(/\b(?:const|function|readonly) \w+(?= =|:|\(|\??:)/g, "")
  const at = new Map<number, string>()
  for (const use of doneBefore.uses) for (const match of code.matchAll(use)) at.set(match.index, match[0])
  return [...at.values()].filter((name) => !doneBefore.others.has(name))
}

interface OneRun {
  readonly files: number
  readonly switches: ReadonlyArray<string>
  readonly executed: ReadonlyArray<string>
}

/** Runs an agent with one read in a process of its own; `undefined` if the checkout cannot. */
const oneRun = (root: string): OneRun | undefined => {
  const { stdout } = spawnSync(process.execPath, [fileURLToPath(new URL("run.mjs", import.meta.url)), root], {
    encoding: "utf8"
  })
  const line = stdout.trim().split("\n").at(-1) ?? ""
  return line.startsWith("{") ? (JSON.parse(line) as { readonly second: OneRun }).second : undefined
}

/** The numbers of a checkout, and the places behind each of them. */
export interface Structure {
  readonly numbers: Measured
  readonly details: Readonly<Record<string, ReadonlyArray<string>>>
}

export const measure = (root: string): Structure => {
  const all = sourcesOf(root, `${core}/**/*.ts`)
  const inRooms = all.filter(isIn(rooms))
  const holders = holdersOf(inRooms)
  const assignments = assignmentsOf(root)
  const shared = sharedHolders(holders, assignments)
  const shapes = all.filter(isIn(wayOfCall)).flatMap(shapesOf).toSorted((a, b) => b.fields.length - a.fields.length)
  const grammars = inRooms.flatMap(grammarsOf)
  const used = schemes.filter(({ pattern }) => inRooms.some(({ text }) => pattern.test(text)))
  const uses = all.filter(({ path }) => path.includes("internal")).flatMap(usesIn)
  const suppressions = sourcesOf(root, "{packages,scripts,test,benchmarks,examples}/**/*.{ts,tsx}").flatMap(
    ({ path, text }) => [...text.matchAll(lengthRule)].map(() => path)
  )
  const run = oneRun(root)
  const largest = shared.toSorted((a, b) => b.fields.length - a.fields.length)
  const shown = ({ changing, fields, name, path }: (typeof shapes)[number]) =>
    `${path} ${name}: ${fields.length} fields, ${changing.length} can change`
  return {
    numbers: {
      files: run?.files,
      switches: run?.switches.length,
      stateHolders: holders.length,
      sharedHolders: shared.length,
      assignments: new Set(assignments.map(({ declaredIn, field, owner }) => `${declaredIn} ${owner} ${field}`)).size,
      largestState: largest[0]?.fields.length ?? 0,
      largestInterface: shapes[0]?.fields.length ?? 0,
      grammars: grammars.length,
      schemes: used.length,
      doneBefore: uses.length,
      coreLines: all.reduce((lines, { text }) => lines + text.split("\n").length - 1, 0),
      lengthSuppressions: suppressions.length
    },
    details: {
      files: run?.executed ?? [],
      switches: run?.switches ?? [],
      stateHolders: holders.map(shown),
      sharedHolders: largest.map(shown),
      assignments: assignments.map(({ assignedIn, declaredIn, field, owner }) =>
        `${declaredIn} ${owner}.${field} in ${assignedIn}`
      ),
      largestInterface: shapes.slice(0, 5).map(shown),
      grammars,
      schemes: used.map(({ name }) => name),
      doneBefore: Object.entries(Object.groupBy(uses, (name) => name)).map(([name, found]) =>
        `${name}: ${found!.length}`
      ),
      lengthSuppressions: suppressions
    }
  }
}
