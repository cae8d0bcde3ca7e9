/**
 * A run leaves no hidden class behind (decision 188). A generator or a class that is made in each run, for example by
 * `Effect.gen(function*() {…})`, has a hidden class of V8 in old space. It keeps the garbage of its run alive until the
 * next major collection.
 */
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"

const times = 20

/** Number of hidden classes that V8 makes in a run of each kind. */
const hiddenClasses = async (): Promise<Record<string, number>> => {
  const folder = await mkdtemp(join(tmpdir(), "recourse-maps-"))
  try {
    const log = join(folder, "v8.log")
    const flags = ["--log-maps", "--no-log-maps-details", "--no-logfile-per-isolate", `--logfile=${log}`]
    const program = [join(import.meta.dirname, "runs.ts"), String(times)]
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...program])
    const made = (await readFile(log, "utf8")).split("\n").filter((line) => line.startsWith("map,InitialMap,"))
    const isMark = (name: string) => (line: string) => line.endsWith(`,${name}`)
    let from = 0
    const perRun = (JSON.parse(stdout) as ReadonlyArray<string>).map((kind) => {
      const begin = made.findIndex((line, at) => at >= from && isMark("BeginMark")(line))
      from = made.findIndex((line, at) => at > begin && isMark("EndMark")(line))
      return [kind, Math.round((from - begin - 1) / times)] as const
    })
    return Object.fromEntries(perRun)
  } finally {
    await rm(folder, { recursive: true })
  }
}

test("a run makes no hidden class", async () => {
  expect(await hiddenClasses()).toEqual({
    "one call": 0,
    "parallel calls": 0,
    "a retried call": 0,
    "a corrected call": 0,
    "a call with a key": 0,
    "a streamed run": 0,
    "an agent as a tool": 0,
    "an agent and then another": 0,
    "a run that waits and continues": 0,
    "a turn of a chat": 0
  })
})
