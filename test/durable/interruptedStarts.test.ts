/** Starts whose caller is interrupted: the run is stored and executes soon, or it is not stored. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Runs } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { Effect, Fiber, Layer } from "effect"
import { runStores } from "../support/runStores.ts"

const agent = Durable.make(Agent.fromFunction("agent", (_: string) => Effect.succeed("done")))

/** Interrupts each start some turns of the scheduler behind its begin, and returns the runs that have not ended soon. */
const unended = Effect.gen(function*() {
  const runs = yield* Runs.Runs
  for (let turns = 0; turns < 40; turns++) {
    const start = runs.start({ agent: "agent", runId: `r${turns}`, input: "go" })
    const starting = yield* Effect.forkChild(start, { startImmediately: true })
    for (let n = 0; n < turns; n++) yield* Effect.yieldNow
    yield* Fiber.interrupt(starting)
  }
  yield* Effect.sleep("1 second")
  const all = yield* runs.list({})
  assert.isAbove(all.length, 0)
  return all.filter(({ status }) => status !== "completed").map(({ runId, status }) => `${runId} ${status}`)
})

describe.each(runStores)("a start whose caller is interrupted: $name", ({ open }) => {
  it("leaves no run to the end of its lease", async () => {
    const { close, layer } = await open()
    const runner = Durable.layer([agent], { lease: "1 minute" }).pipe(Layer.provide(layer))
    assert.deepEqual(await Effect.runPromise(Effect.provide(unended, runner)).finally(close), [])
  })
})
