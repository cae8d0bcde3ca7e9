/** Runs the commands of an example's README in the root of the repository: their output is the documented one. */
import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { stepsOf } from "../packed/support/page.ts"
import { walk } from "../packed/support/walk.ts"
import { root } from "../packed/support/workspace.ts"

const environment = (port: number): string =>
  `export PATH='${dirname(process.execPath)}':"$PATH" PORT=${port} TRAVEL_DATABASE=:memory: DESK_DATABASE=:memory:`

/** Replaces a script of the example by its command in the folder of the example. pnpm itself takes longer to start than most examples. */
const withoutPnpm = (folder: string, port: number) => (command: string): string => {
  const [, name, script] = /^npx --yes pnpm@[\d.]+ --filter (\S+) (\S+)$/.exec(command) ?? []
  if (name === undefined || script === undefined) return command
  const manifest: { readonly name: string; readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8")
  )
  assert.strictEqual(name, manifest.name)
  assert.property(manifest.scripts, script)
  return `${environment(port)}; cd '${folder}' && ${manifest.scripts[script]}`
}

export const runReadme = async (name: string, port: number): Promise<void> => {
  const folder = join(root, "examples", name)
  const steps = stepsOf(readFileSync(join(folder, "README.md"), "utf8"))
  assert.isTrue(steps.some(({ kind }) => kind === "commands"), "has a command")
  assert.isTrue(steps.some(({ kind }) => kind === "output"), "shows its output")
  await walk(steps, { folder: root, substitute: withoutPnpm(folder, port), ports: [port] })
}
