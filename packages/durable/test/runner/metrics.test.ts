/** Metrics of durable runs. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric, Schema } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunMetrics, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"

const Slow = Tool.make("slow", {
  success: Schema.String,
  effects: "read",
  execute: () => Effect.as(Effect.sleep("6 seconds"), "ok")
})

const counted = Durable.make(
  Agent.make("counted", { tools: [Slow], defaults: { onError: Recovery.keepGoing } })
)

const script = ({ prompt }: ScriptedModel.Request) =>
  prompt.content.length < 3 ? ScriptedModel.call("slow", {}) : ScriptedModel.text("done")

describe("metrics of durable runs", () => {
  it.live("count queued, taken over and lost runs, and ends", () =>
    Effect.gen(function*() {
      const store = Context.get(
        yield* Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))),
        RunStore.RunStore
      )
      const registry = new Map()
      const around = Layer.merge(
        Layer.succeed(RunStore.RunStore, store),
        Layer.succeed(Metric.MetricRegistry, registry)
      )
      /** Looks at the store behind this one's back: as another runner that has taken the run. */
      const stolen = Effect.gen(function*() {
        yield* Effect.sleep("2 seconds")
        const run = yield* store.get("r1")
        yield* store.settle(run!, { status: "queued" })
        yield* store.take({ agents: [{ agent: "counted", versions: ["1"] }], leaseMillis: 5000, limit: 1 })
      })
      const program = Effect.gen(function*() {
        yield* counted.start("r1", "go")
        yield* counted.start("r2", "go", { delay: "1 hour" })
        yield* Effect.forkChild(stolen)
        yield* counted.await("r1")
        yield* counted.cancel("r2")
        yield* counted.start("r3", "go", { delay: "1 hour" })
        yield* Effect.sleep("1 minute")
        return yield* PrometheusMetrics.format()
      }).pipe(
        Effect.provide(
          Layer.merge(Durable.layer([counted], { lease: "6 seconds" }), RunMetrics.layer()).pipe(
            Layer.provide(ScriptedModel.layer(script)),
            Layer.provideMerge(around)
          )
        )
      )
      const { exit } = yield* VirtualTime.run(program)
      const text = yield* exit
      const lines = text.split("\n").filter((line) => line.startsWith("recourse_runs"))
      const has = (line: string) => assert.include(lines, line)
      has(`recourse_runs_ended{agent="counted",status="completed"} 1`)
      has(`recourse_runs_ended{agent="counted",status="cancelled"} 1`)
      has(`recourse_runs_leases_lost{agent="counted"} 1`)
      has(`recourse_runs_failovers{agent="counted"} 1`)
      has(`recourse_runs{status="waiting"} 0`)
      has(`recourse_runs{status="queued",agent="counted"} 1`)
      assert.isTrue(lines.some((line) => /^recourse_runs_step_duration_milliseconds_count 3$/.test(line)), text)
    }))
})
