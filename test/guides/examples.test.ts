/** Each example has a README, whose commands run in the root of the repository with the documented output. */
import { describe, it } from "@effect/vitest"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { root } from "../packed/support/workspace.ts"
import { runReadme } from "./exampleReadmes.ts"

// `durableExample.test.ts` runs the other one.
const names = readdirSync(join(root, "examples")).filter((name) => name !== "durable-refunds")

// The commands are for sh.
describe.skipIf(process.platform === "win32")("READMEs of the examples", () => {
  it.each(names)("run %s as it is shown", (name) => runReadme(name, 4984), 120_000)
})
