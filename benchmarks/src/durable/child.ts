/**
 * One contestant in a process of its own: `node child.ts <name> <place> <task> <n>`. Prints its measurements as JSON.
 */
import { contestants } from "./contestants.ts"
import type { Place } from "./engine.ts"

const [name, place, task, count] = process.argv.slice(2) as [string, string, string, string]
const n = Number(count)
const open = await contestants[name]!()
const from = performance.now()
const since = (): number => performance.now() - from
const engine = await open(JSON.parse(place) as Place, task === "cut")

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

const tasks: Readonly<Record<string, () => Promise<object>>> = {
  /** Milliseconds of a step in one run and steps a second of 50 runs at once, with runs of 20 steps; milliseconds of a run of 200. */
  steps: async () => {
    // A service that has run for a while: its code is compiled. Code that runs once a run needs hundreds of runs for
    // that.
    const warm = performance.now() + 10_000
    for (let run = 0; run < 50 || (run < 500 && performance.now() < warm); run++) await engine.run(`warm ${run}`, 20)
    const alone = await timed(async () => {
      for (let run = 0; run < 50; run++) await engine.run(`alone ${run}`, 20)
    })
    for (let run = 0; run < 3; run++) await engine.run(`warm longer ${run}`, 200)
    const longer = await timed(async () => {
      for (let run = 0; run < 15; run++) await engine.run(`longer ${run}`, 200)
    })
    const ids = Array.from({ length: n }, (_, run) => `run ${run}`)
    const many = await timed(() =>
      Promise.all(Array.from({ length: 50 }, async () => {
        for (let id = ids.pop(); id !== undefined; id = ids.pop()) await engine.run(id, 20)
      }))
    )
    return { alone: alone / 1000, longer: longer / 15, perSecond: (n * 20_000) / many }
  },
  /** Steps a second and processor time of a run, of 50 runs at once: of 20 and of 200 steps. */
  both: async () => {
    const warm = performance.now() + 5000
    for (let run = 0; run < 50 || (run < 200 && performance.now() < warm); run++) await engine.run(`warm ${run}`, 20)
    const many = async (runs: number, steps: number) => {
      const before = process.cpuUsage()
      const ids = Array.from({ length: runs }, (_, run) => `${steps} steps ${run}`)
      const millis = await timed(() =>
        Promise.all(Array.from({ length: 50 }, async () => {
          for (let id = ids.pop(); id !== undefined; id = ids.pop()) await engine.run(id, steps)
        }))
      )
      const { system, user } = process.cpuUsage(before)
      return { perSecond: (runs * steps * 1000) / millis, cpuOfRun: (system + user) / runs }
    }
    return { short: await many(n, 20), long: await many(Math.max(10, Math.round(n / 8)), 200) }
  },
  /** A run of many steps, which hangs behind them. The process that starts this one kills it then. */
  cut: async () => {
    const long = await timed(() => engine.cut!("long", n))
    return { long }
  },
  /** From opening the engine to the end of the run that was cut. */
  resume: async () => {
    await engine.resume!("long", n)
    return { resumed: since() }
  },
  wait: async () => {
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    const ids = Array.from({ length: n }, (_, run) => `wait ${run}`)
    const waiting = await timed(() => engine.wait!(ids))
    globalThis.gc?.()
    return { waiting, heap: (process.memoryUsage().heapUsed - before) / 2 ** 20 }
  }
}

const measured = await tasks[task]!()
process.stdout.write(`${JSON.stringify(measured)}\n`)
if (task === "cut") await new Promise(() => setInterval(() => undefined, 1000))
// Not everybody's intervals end with them.
await Promise.race([engine.close(), new Promise((resolve) => setTimeout(resolve, 2000))])
process.exit(0)
