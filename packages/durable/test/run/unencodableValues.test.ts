/** Values that no JSON holds: a run that comes to one ends, and its process executes it once. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Data, Effect, Layer, Schema } from "effect"

const cyclic: Record<string, unknown> = {}
cyclic["self"] = cyclic

/** An array within arrays, so many of them. */
const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let n = 0; n < levels; n++) value = [value]
  return value
}

const values = {
  "a cyclic object": cyclic,
  "a bigint": 7n,
  "an array in 100,000 others": nested(100_000),
  "an array in 5,000 others": nested(5000),
  "an object whose getter throws": Object.defineProperty({}, "a", {
    enumerable: true,
    get: () => {
      throw new Error("no")
    }
  })
} as const

const stores = {
  memory: RunStore.layerMemory,
  SQLite: RunStore.layerSql().pipe(Layer.provide(NodeSqliteClient.layer({ filename: ":memory:" })))
} as const

class Odd extends Data.TaggedError("Odd")<{ readonly value: unknown }> {}

/** An answer by the function of an agent; the result of a tool, with a schema for anything. */
const agentsOf = (value: unknown, executed: () => void) => ({
  output: Durable.make(
    Agent.fromFunction("odd", (_: string) => Effect.sync(() => (executed(), value))),
    { output: Schema.Any }
  ),
  error: Durable.make(
    Agent.fromFunction(
      "odd",
      (_: string) => Effect.suspend(() => (executed(), Effect.fail(new Odd({ value })) as never))
    ),
    { output: Schema.Any, errors: Schema.Any }
  ),
  result: Durable.make(
    Agent.make("odd", {
      tools: [Tool.make("work", {
        success: Schema.Any,
        effects: "write",
        execute: () => Effect.sync(() => (executed(), value))
      })],
      defaults: { onError: Recovery.keepGoing }
    })
  )
})

const model = ScriptedModel.layer(({ prompt }) =>
  prompt.content.at(-1)?.role === "tool" ? ScriptedModel.text("done") : ScriptedModel.call("work", {})
)

describe("a run that comes to", () => {
  for (const [name, value] of Object.entries(values)) {
    for (const part of ["output", "error", "result"] as const) {
      for (const [kind, store] of Object.entries(stores)) {
        it.live(`${name} as its ${part} ends, in ${kind}`, () =>
          Effect.gen(function*() {
            let times = 0
            const agent = agentsOf(value, () => times++)[part] as Durable.Durable<string, unknown, unknown, never>
            const { exit } = yield* VirtualTime.run(
              Effect.gen(function*() {
                const runs = yield* Runs.Runs
                yield* agent.start("r1", "go")
                return yield* Effect.timeout(runs.wait("r1"), "1 hour")
              }).pipe(
                Effect.provide(Durable.layer([agent]).pipe(Layer.provide([Layer.fresh(store), model])))
              )
            )
            const { failure, status } = yield* exit
            assert.strictEqual(times, 1)
            // Some nested values have a JSON: whichever it is, the run ends.
            if (name.includes("5,000")) return
            if (part !== "result") assert.strictEqual(status, "failed")
            if (part === "output") assert.strictEqual(failure?.error, "InvalidOutput")
            if (part === "error") assert.strictEqual(failure?.error, "Odd")
          }))
      }
    }
  }
})
