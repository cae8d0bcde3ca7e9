/**
 * Measures of hosts, from a process that executes no runs: runners execute the runs that it starts, decides and
 * cancels.
 */
import { Approval, Runs } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { Effect, Layer, ManagedRuntime } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { median } from "../stats.ts"
import { hostAgents, type HostName, placedBy } from "./hostAgents.ts"
import type { RunnerMessage } from "./hostRunner.ts"

/** A runner, and when it was last seen at a step of each run. */
interface Runner {
  readonly process: ChildProcess
  readonly steps: Map<string, number>
}

/** Runners on one database, and a client of them. */
export interface Fleet {
  readonly runners: ReadonlyArray<Runner>
  readonly run: <A, E>(effect: Effect.Effect<A, E, Runs.Runs>) => Promise<A>
  readonly close: () => Promise<void>
}

const startRunner = (host: HostName, url: string, onStep: (run: string, at: number) => void): Promise<Runner> =>
  new Promise((resolve) => {
    const steps = new Map<string, number>()
    const started = fork(join(import.meta.dirname, "hostRunner.ts"), [host, url], {
      execArgv: ["--expose-gc", "--disable-warning=ExperimentalWarning"]
    })
    started.on("message", (message: RunnerMessage) => {
      if (message._tag === "Ready") resolve({ process: started, steps })
      if (message._tag === "Step") {
        steps.set(message.run, performance.now())
        onStep(message.run, performance.now())
      }
    })
  })

const { pacer, waiter, worker } = hostAgents(() => undefined)

/** For so long runs are executed that are not measured. */
const warmMillis = 12_000

/** Starts runners. A process that is slow to compile is not measured: each runs some runs first. */
export const startFleet = async (host: HostName, url: string, size: number): Promise<Fleet> => {
  const runners: Array<Runner> = []
  for (let n = 0; n < size; n++) runners.push(await startRunner(host, url, () => undefined))
  const runtime = ManagedRuntime.make(
    Durable.layerClient([worker, pacer, waiter]).pipe(Layer.provide(placedBy(host, url, "client")))
  )
  const run: Fleet["run"] = (effect) => runtime.runPromise(effect)
  const until = performance.now() + warmMillis
  for (let n = 0; performance.now() < until || n < 20; n++) {
    await run(Effect.forEach([1, 2, 3, 4], (k) => worker.run(`warm ${n} ${k}`, "steps 20"), { concurrency: 4 }))
  }
  return {
    runners,
    run,
    close: async () => {
      for (const { process } of runners) process.kill("SIGKILL")
      await Promise.race([runtime.dispose(), setTimeout(2000)])
    }
  }
}

const usageOf = ({ process }: Runner): Promise<Extract<RunnerMessage, { readonly _tag: "Usage" }>> =>
  new Promise((resolve) => {
    const hear = (message: RunnerMessage): void => {
      if (message._tag !== "Usage") return
      process.removeListener("message", hear)
      resolve(message)
    }
    process.on("message", hear)
    process.send("usage")
  })

const cpuOf = async ({ runners }: Fleet): Promise<number> => {
  let micros = 0
  for (const runner of runners) micros += (await usageOf(runner)).cpuMicros
  return micros
}

/** Steps a second, and processor time of the runners, of runs that another process starts. */
export const served = async (fleet: Fleet, runs: number, steps: number) => {
  const before = await cpuOf(fleet)
  const from = performance.now()
  const ids = Array.from({ length: runs }, (_, n) => `served ${steps} ${from} ${n}`)
  await fleet.run(
    Effect.forEach(ids, (id) => worker.run(id, `steps ${steps}`), { concurrency: 50, discard: true })
  )
  const millis = performance.now() - from
  return { perSecond: (runs * steps * 1000) / millis, cpuOfRun: (await cpuOf(fleet) - before) / runs }
}

const untilStatus = (id: string, status: Runs.Status) =>
  Effect.flatMap(
    Runs.Runs,
    (runs) => Effect.repeat(Effect.delay(runs.get(id), "2 millis"), { until: (info) => info.status === status })
  )

const timed = (fleet: Fleet, times: number, one: (n: number) => Effect.Effect<number, unknown, Runs.Runs>) =>
  fleet.run(Effect.map(Effect.forEach(Array.from({ length: times }, (_, n) => n), one), (all) => median(all)))

const since = (from: number) => Effect.sync(() => performance.now() - from)

/** Milliseconds, medians: a call that starts, a start to its run's wait, a decision to the end, and a cancellation to the end. */
export const latencies = async (fleet: Fleet, times: number) => {
  const starting: Array<number> = []
  const started = await timed(fleet, times, (n) =>
    Effect.gen(function*() {
      const from = performance.now()
      yield* waiter.start(`late ${n}`, "go")
      starting.push(performance.now() - from)
      yield* untilStatus(`late ${n}`, "waiting")
      return yield* since(from)
    }))
  const decided = await timed(fleet, times, (n) =>
    Effect.gen(function*() {
      const { pending } = yield* waiter.poll(`late ${n}`)
      const from = performance.now()
      yield* waiter.decide(`late ${n}`, pending.map((call) => Approval.approve(call)))
      yield* waiter.await(`late ${n}`)
      return yield* since(from)
    }))
  const cancelled = await timed(fleet, times, (n) =>
    Effect.gen(function*() {
      const runs = yield* Runs.Runs
      yield* pacer.start(`cancelled ${n}`, `run c${n}`)
      yield* untilStatus(`cancelled ${n}`, "running")
      yield* Effect.sleep("120 millis")
      const from = performance.now()
      yield* runs.cancel(`cancelled ${n}`)
      yield* runs.wait(`cancelled ${n}`)
      return yield* since(from)
    }))
  return { start: median(starting), started, decided, cancelled }
}

/** Seconds from a signal until the runs of the process have their next step in another process: median and most. */
export const takeover = async (host: HostName, url: string, signal: NodeJS.Signals) => {
  const fleet = await startFleet(host, url, 2)
  try {
    const ids = Array.from({ length: 12 }, (_, n) => `${signal.toLowerCase()}${n}`)
    await fleet.run(Effect.forEach(ids, (id) => pacer.start(id, `run ${id}`), { discard: true }))
    await setTimeout(3000)
    const [one, two] = fleet.runners as readonly [Runner, Runner]
    const recently = ({ steps }: Runner) => ids.filter((id) => (steps.get(id) ?? 0) > performance.now() - 1000)
    const [hit, other] = recently(one).length >= recently(two).length ? [one, two] : [two, one]
    const taken = recently(hit)
    for (const id of ids) other.steps.delete(id)
    const from = performance.now()
    hit.process.kill(signal)
    const first = new Map<string, number>()
    while (first.size < taken.length && performance.now() - from < 60_000) {
      await setTimeout(5)
      for (const id of taken) if (!first.has(id) && other.steps.has(id)) first.set(id, other.steps.get(id)! - from)
    }
    const seconds = [...first.values()].map((millis) => millis / 1000)
    return { runs: taken.length, taken: first.size, median: median(seconds), most: Math.max(...seconds) }
  } finally {
    await fleet.close()
  }
}

/** Runs that wait for a person: seconds of the start calls, seconds until all wait, MiB that the runners hold, and milliseconds to wake one of them. */
export const waiting = async (fleet: Fleet, count: number) => {
  const heapOf = async () => {
    let heap = 0
    for (const runner of fleet.runners) heap += (await usageOf(runner)).heapMiB
    return heap
  }
  const before = await heapOf()
  const from = performance.now()
  const ids = Array.from({ length: count }, (_, n) => `wait ${n}`)
  await fleet.run(Effect.forEach(ids, (id) => waiter.start(id, "go"), { concurrency: 50, discard: true }))
  const called = performance.now() - from
  const waiters = Effect.flatMap(
    Runs.Runs,
    (runs) => runs.list({ agent: "waiter", status: "waiting", limit: 1_000_000 })
  )
  await fleet.run(Effect.repeat(Effect.delay(waiters, "250 millis"), { until: (all) => all.length >= count }))
  const all = performance.now() - from
  const heap = await heapOf() - before
  const woken = await timed(fleet, 20, (n) =>
    Effect.gen(function*() {
      const { pending } = yield* waiter.poll(`wait ${n}`)
      const at = performance.now()
      yield* waiter.decide(`wait ${n}`, pending.map((call) => Approval.approve(call)))
      yield* waiter.await(`wait ${n}`)
      return yield* since(at)
    }))
  return { called: called / 1000, all: all / 1000, heap, woken }
}
