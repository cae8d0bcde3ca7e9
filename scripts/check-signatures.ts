/**
 * Types of public signatures are exported, but for the recorded ones, whose number may only fall.
 *
 * It reads the declarations that `pnpm types` has built. `--write` records the types that are left.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { unexportedTypes } from "../docs/site/api/unexportedTypes.ts"

const file = join(import.meta.dirname, "unexported-types.json")
const recorded = JSON.parse(readFileSync(file, "utf8")) as ReadonlyArray<string>
const found = unexportedTypes()
const added = [...found].filter(([name]) => !recorded.includes(name)).map(([name, user]) => `${name}, of ${user}`)
const gone = recorded.filter((name) => !found.has(name))

if (added.length > 0) {
  process.stderr.write(`Export these types, or write their parts into the signature:\n${added.join("\n")}\n`)
  process.exitCode = 1
} else if (process.argv.includes("--write")) {
  writeFileSync(file, `${JSON.stringify([...found.keys()], undefined, 2)}\n`)
} else if (gone.length > 0) {
  process.stderr.write(
    `Exported by now: record it by \`node scripts/check-signatures.ts --write\`\n${gone.join("\n")}\n`
  )
  process.exitCode = 1
}
