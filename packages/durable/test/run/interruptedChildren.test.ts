/** Starts of children that are interrupted after the child is stored: it executes soon, and not at the end of its lease. */
import { assert, describe, it } from "@effect/vitest"
import { Agent } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { VirtualTime } from "@recourse/testing"
import { Context, Effect, Layer } from "effect"

const child = Durable.make(Agent.fromFunction("child", (_: string) => Effect.succeed("done")))
const parent = Durable.make(
  Agent.fromFunction("parent", (id: string) =>
    Effect.andThen(
      Effect.timeoutOption(Effect.orDie(child.start(id, "go")), "500 millis"),
      Effect.as(Effect.sleep("10 seconds"), "done")
    ))
)

describe("a start of a child that is interrupted while its parent is read", () => {
  it.live("leaves the child to any process", () =>
    Effect.gen(function*() {
      const store = Context.get(yield* Layer.build(Layer.fresh(RunStore.layerMemory)), RunStore.RunStore)
      let reads = 0
      const slow = Layer.succeed(RunStore.RunStore, {
        ...store,
        get: (runId: string) =>
          runId === "p" && reads++ === 0 ? Effect.delay(store.get(runId), "2 seconds") : store.get(runId)
      })
      const program = Effect.gen(function*() {
        yield* parent.start("p", "c")
        yield* Effect.sleep("5 seconds")
        return (yield* store.get("c"))?.status
      })
      const runners = Durable.layer([parent, child], { lease: "1 minute" }).pipe(Layer.provide(slow))
      const { exit } = yield* VirtualTime.run(Effect.provide(program, runners))
      assert.strictEqual(yield* exit!, "completed")
    }).pipe(Effect.scoped))
})
