/**
 * The cost of a run grows with its agents and its turns, and not with their square (decision 352). Visits of the code's blocks are counted in a process
 * without compilers: a count is the same on every machine.
 */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"

const size = 25
const flags = ["--no-opt", "--no-maglev", "--no-sparkplug"]
const program = join(import.meta.dirname, "../../benchmarks/src/scale/visits.ts")

type Visits = readonly [ofOne: number, ofTwice: number, ofFourTimes: number]

test("visits of a run grow in proportion to its agents and its turns", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, "--size", String(size)])
  const { depth, ...others } = JSON.parse(stdout) as Readonly<Record<string, Visits>>
  const names = Object.keys(others)
  expect(names.toSorted()).toEqual([
    "calls of a tool",
    "sides, Agent.all",
    "sides, as tools",
    "sides, by hand",
    "sides, heard",
    "turns",
    "turns, heard"
  ])
  const grown = names.flatMap((name) => {
    const [once, twice, fourTimes] = others[name]!
    // Cost of one more, in a run twice as large.
    const growth = (fourTimes - twice) / 2 / (twice - once)
    return once > 500 * size && growth < 1.005 ? [] : [{ name, once, growth }]
  })
  expect(grown).toEqual([])
  // An agent is visited for each level above it: its uses count there, and their limits hold for it.
  const [, twice, fourTimes] = depth!
  const forEachLevelAbove = (fourTimes / (4 * size) - twice / (2 * size)) / size
  expect(forEachLevelAbove).toBeGreaterThan(1)
  expect(forEachLevelAbove).toBeLessThan(60)
}, 60_000)
