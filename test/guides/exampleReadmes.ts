/** Runs the commands of an example's README in the root of the repository: their output is the documented one. */
import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { stepsOf } from "../packed/support/page.ts"
import { walk } from "../packed/support/walk.ts"
import { root } from "../packed/support/workspace.ts"

const pageOf = (name: string): string => readFileSync(join(root, "examples", name, "README.md"), "utf8")

export const runReadme = async (name: string, port: number): Promise<void> => {
  const steps = stepsOf(pageOf(name))
  assert.isTrue(steps.some(({ kind }) => kind === "commands"), "has a command")
  assert.isTrue(steps.some(({ kind }) => kind === "output"), "shows its output")
  // From a shell the commands need `npx`; the tests are run by pnpm itself.
  const substitute = (command: string): string =>
    command.replace(
      /^npx --yes pnpm@[\d.]+/,
      `PORT=${port} TRAVEL_DATABASE=:memory: DESK_DATABASE=:memory: pnpm --silent`
    )
  await walk(steps, { folder: root, substitute, ports: [port] })
}
