/** Each example has a README, whose commands are run in the root of the repository and print what it shows. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { stepsOf } from "../packed/support/page.ts"
import { walk } from "../packed/support/walk.ts"
import { root } from "../packed/support/workspace.ts"

const pageOf = (name: string): string => readFileSync(join(root, "examples", name, "README.md"), "utf8")

// The commands are for sh.
describe.skipIf(process.platform === "win32")("READMEs of the examples", () => {
  it.each(readdirSync(join(root, "examples")))("run %s as it is shown", async (name) => {
    const steps = stepsOf(pageOf(name))
    assert.isTrue(steps.some(({ kind }) => kind === "commands"), "has a command")
    assert.isTrue(steps.some(({ kind }) => kind === "output"), "shows its output")
    // From a shell the commands need `npx`; the tests are run by pnpm itself.
    const substitute = (command: string): string =>
      command.replace(
        /^npx --yes pnpm@[\d.]+/,
        "PORT=4984 TRAVEL_DATABASE=:memory: DESK_DATABASE=:memory: pnpm --silent"
      )
    await walk(steps, { folder: root, substitute, ports: [4984] })
  }, 120_000)
})
