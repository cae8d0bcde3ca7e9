/**
 * Counts how often runs that grow visit the blocks of their code: `node --no-opt --no-maglev --no-sparkplug src/scale/visits.ts [--size 40]`.
 *
 * Prints, by case in JSON, the visits of one size, of twice and of four times as much. Without compilers each visit is
 * counted; the engine's own work, such as copying an array, is not.
 */
import { Session } from "node:inspector/promises"
import { parseArgs } from "node:util"
import { cases, runOnce } from "./cases.ts"

const { values } = parseArgs({ options: { size: { type: "string", default: "40" } } })
const size = Number(values.size)

const visits = async (run: () => Promise<unknown>): Promise<number> => {
  const session = new Session()
  session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  await run()
  const { result } = await session.post("Profiler.takePreciseCoverage")
  await session.post("Profiler.stopPreciseCoverage")
  session.disconnect()
  return result.filter(({ url }) => /packages\/core|effect\/dist/.test(url)).reduce(
    (sum, { functions }) =>
      functions.reduce((sum, { ranges }) => ranges.reduce((sum, { count }) => sum + count, sum), sum),
    0
  )
}

const counted: Record<string, ReadonlyArray<number>> = {}
for (const [name, { make }] of Object.entries(cases)) {
  const counts: Array<number> = []
  for (const times of [1, 2, 4]) {
    const [program, answers] = make(times * size)
    const run = () => runOnce(program, answers)
    // Single-use work, such as making a schema, happens here.
    await run()
    counts.push(await visits(run))
  }
  counted[name] = counts
}
process.stdout.write(JSON.stringify(counted))
