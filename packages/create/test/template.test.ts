/** The template is a project: its tests and its program run here, with the packages of the workspace. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

const root = join(import.meta.dirname, "../../..")
const template = join(import.meta.dirname, "../template")

// The models of whoever runs the tests are not the project's. A test runner within a test runner reports to a person.
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:LLM_|NODE_TEST_CONTEXT$|NODE_OPTIONS$)/.test(name))
)
const node = async (...args: ReadonlyArray<string>): Promise<string> =>
  (await promisify(execFile)(process.execPath, args, { cwd: template, env })).stdout

const manifestOf = (path: string) =>
  JSON.parse(readFileSync(path, "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>
    readonly devDependencies: Readonly<Record<string, string>>
  }

describe("the template", () => {
  it("passes its own tests under faults", async () => {
    const output = await node("--test", "--test-reporter=tap", "test/*.test.ts")
    assert.match(output, /^# pass 4$/m)
    assert.match(output, /^# fail 0$/m)
  })

  it("runs its agent and prints the timeline", async () => {
    const output = await node("src/main.ts")
    assert.include(output, "result for the model: Order 7 is on its way.")
    assert.match(output, /\nOrder 7 is on its way\.\n$/)
  })

  it("has the versions of other packages that are tested here", () => {
    const { dependencies = {}, devDependencies } = manifestOf(join(template, "package.json"))
    const tested = manifestOf(join(root, "package.json")).devDependencies
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      assert.strictEqual(name.startsWith("@recourse/") ? "workspace:^" : tested[name], version, name)
    }
  })
})
