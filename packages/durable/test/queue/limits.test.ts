/** Limits among runs that start runs: of a process, and of a queue. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Logger } from "effect"
import { Agent, Runs } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { VirtualTime } from "@recourse/testing"
import { seeded } from "../../../core/test/support/seeded.ts"
import { type Fault, faulty } from "../support/faultyStore.ts"

const memory = () => Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))

interface Span {
  readonly from: number
  readonly to: number
}
const most = (spans: ReadonlyArray<Span>): number =>
  Math.max(...spans.map(({ from }) => spans.filter((other) => other.from <= from && other.to > from).length))

/** An agent that works, starts as many runs of its own as its input says, one level down, waits for them, and works again. */
const nested = (queue?: Durable.Queue) => {
  const spans: Array<Span> = []
  const work = Effect.gen(function*() {
    const from = yield* Clock.currentTimeMillis
    yield* Effect.sleep("3 seconds")
    spans.push({ from, to: yield* Clock.currentTimeMillis })
  })
  const Node: Durable.Durable<string, string, never, never> = Durable.make(
    Agent.fromFunction("node", (input: string): Effect.Effect<string> =>
      Effect.gen(function*() {
        const [id = "", ...below] = input.split(",")
        const children = Number(below.shift() ?? 0)
        yield* work
        yield* Effect.forEach(
          Array.from({ length: children }, (_, n) => `${id}/${n}`),
          (id) => Node.run(id, [id, ...below].join()),
          { concurrency: "unbounded" }
        )
        yield* work
        return "done"
      }) as Effect.Effect<string>),
    { queue }
  ) as never
  return { Node, spans }
}

describe("runs that wait for runs that they started", () => {
  it.live("give one place of their process away, whatever number they wait for", () =>
    Effect.gen(function*() {
      const { Node, spans } = nested()
      const { exit } = yield* VirtualTime.run(
        Node.run("r1", "r1,40").pipe(
          Effect.provide(Durable.layer([Node], { concurrency: 5 }).pipe(Layer.provide(memory())))
        ),
        { steps: 3_000_000 }
      )
      assert.deepEqual(exit, Exit.succeed("done"))
      assert.isAtMost(most(spans), 5)
    }))

  it.live("release their queue slots, and regain them before they continue", () =>
    Effect.gen(function*() {
      for (const concurrency of [1, 3]) {
        const { Node, spans } = nested({ concurrency })
        const store = memory()
        const process = (ids: ReadonlyArray<string>) =>
          Effect.forEach(ids, (id) => Node.run(id, `${id},3,2`), { concurrency: "unbounded" }).pipe(
            Effect.provide(Durable.layer([Node]).pipe(Layer.provide(store)))
          )
        const ended = yield* VirtualTime.runAll<unknown, unknown, never>([
          { effect: process(["r1", "r2"]) },
          { effect: process(["r2", "r3"]), identity: 1 }
        ], { steps: 3_000_000, limit: "2 hours" })
        for (const { exit } of ended) assert.isTrue(Exit.isSuccess(exit), String(exit))
        assert.strictEqual(most(spans), concurrency)
      }
    }))
})

/** Number of random worlds. */
const worlds = Number(process.env["TEST_LIMITS"] ?? 5)

/**
 * Runs that start runs of their own agent, in a queue; processes are killed and lose the store, and some runs are
 * cancelled.
 */
const drawn = (seed: number) => {
  const next = seeded(seed)
  const concurrency = 1 + next() % 3
  const rate = next() % 3 === 0 ? { limit: 2, per: "4 seconds" } as const : undefined
  const store = Context.get(
    Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))),
    RunStore.RunStore
  )
  /** Runs at work. One that is cut off is at work until another process has it. */
  const working = new Set<string>()
  const cancelled = new Set<string>()
  let most = 0
  const work = (id: string) =>
    Effect.onExit(
      Effect.andThen(
        Effect.sync(() => {
          working.add(id)
          most = Math.max(most, [...working].filter((one) => !cancelled.has(one)).length)
        }),
        Effect.sleep(500 + (seed * 7919) % 3000)
      ),
      () => Effect.sync(() => void working.delete(id))
    )
  const Node: Durable.Durable<string, string, never, never> = Durable.make(
    Agent.fromFunction("node", (input: string): Effect.Effect<string> =>
      Effect.gen(function*() {
        const [id = "", ...below] = input.split(",")
        const children = Number(below.shift() ?? 0)
        yield* work(id)
        const each = (n: number) =>
          Effect.exit(Effect.suspend(() => Node.run(`${id}/${n}`, [`${id}/${n}`, ...below].join())))
        yield* Effect.forEach(Array.from({ length: children }, (_, n) => n), each, { concurrency: "unbounded" })
        yield* work(id)
        return "done"
      }) as Effect.Effect<string>),
    { queue: { concurrency, rate } }
  ) as never
  const kinds = ["fails", "dies", "lost", "frozen", "gone", "slow"] as const
  const runner = (faults: ReadonlyArray<Fault>) =>
    Effect.never.pipe(
      Effect.provide(
        Durable.layer([Node], { concurrency: 1 + next() % 4 }).pipe(
          Layer.provide(Layer.succeed(RunStore.RunStore, faulty(store, faults)))
        )
      ),
      Effect.provide(Logger.layer([])),
      Effect.timeoutOption("40 minutes")
    )
  const faults = () =>
    Array.from({ length: next() % 4 }, (): Fault => ({ at: 3 + next() % 80, fault: kinds[next() % kinds.length]! }))
  const roots = Array.from({ length: 1 + next() % 3 }, (_, n) => `r${n}`)
  const client = Effect.gen(function*() {
    for (const root of roots) {
      yield* Effect.sleep(next() % 3000)
      yield* Node.start(root, [root, next() % 4, next() % 3].join(), { delay: next() % 4000 })
    }
    for (let left = next() % 4; left > 0; left--) {
      yield* Effect.sleep(next() % 15_000)
      const id = roots[next() % roots.length]! + ["", "/0", "/1", "/0/1"][next() % 4]!
      const wasCancelled = yield* Effect.orElseSucceed(Node.cancel(id), () => false)
      if (wasCancelled) {
        for (const { runId } of yield* all) if (`${runId}/`.startsWith(`${id}/`)) cancelled.add(runId)
      }
    }
    yield* Effect.sleep("35 minutes")
    return yield* all
  }).pipe(Effect.provide(Durable.layerClient([Node]).pipe(Layer.provide(Layer.succeed(RunStore.RunStore, store)))))
  const all = Effect.flatMap(Runs.Runs, (runs) => runs.list({ limit: 1000 }))
  return Effect.map(
    VirtualTime.runAll<unknown, unknown, never>([
      { effect: client },
      { effect: runner(faults()), identity: 1, killAt: 300 + next() % 6000 },
      { effect: runner(faults()), identity: 2, killAt: 300 + next() % 6000 },
      { effect: runner(faults()), identity: 3 }
    ], { steps: 20_000_000, limit: "1 hour", order: seed }),
    ([ended]) => ({
      ended: ended as VirtualTime.Ended<ReadonlyArray<Runs.RunInfo>, unknown>,
      concurrency,
      cancelled,
      most
    })
  )
}

describe("drawn families of runs in a queue", () => {
  it.live(
    "all end within their limits, despite kills, cancellations and interruptions",
    () =>
      Effect.gen(function*() {
        let busy = 0
        let cancelled = 0
        for (let seed = 1; seed <= worlds; seed++) {
          const world = yield* drawn(seed)
          const about = `seed ${seed}`
          assert.isTrue(Exit.isSuccess(world.ended.exit), `${about}: ${String(world.ended.exit)}`)
          const all = yield* world.ended.exit
          for (const { runId, status } of all) {
            assert.include(["completed", "cancelled"], status, `${about}: ${runId}`)
            // Only those are cancelled, and the runs that they have started.
            const isBelow = [...world.cancelled].some((one) => `${runId}/`.startsWith(`${one}/`))
            if (!isBelow) assert.strictEqual(status, "completed", `${about}: ${runId}`)
          }
          assert.isAtMost(world.most, world.concurrency, about)
          if (world.most === world.concurrency) busy++
          cancelled += world.cancelled.size
        }
        assert.isAbove(busy, worlds / 2)
        assert.isAbove(cancelled, worlds / 4)
      }),
    600_000
  )
})
