import { assert, it } from "@effect/vitest"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"

it.live("a tool learns whom its run belongs to", () => {
  const owners: Array<string | undefined> = []
  const Ask = Tool.make("ask", {
    success: Schema.String,
    effects: "read",
    execute: () => Effect.map(Runs.Owner, (owner) => String(owners.push(owner)))
  })
  const asker = Durable.make(Agent.make("asker", { tools: [Ask], defaults: { onError: Recovery.keepGoing } }))
  const layer = Durable.layer([asker]).pipe(Layer.provide([
    RunStore.layerMemory,
    ScriptedModel.layer(({ prompt }) =>
      prompt.content.length === 1 ? ScriptedModel.call("ask", {}) : ScriptedModel.text("done")
    )
  ]))
  const program = Effect.gen(function*() {
    const runs = yield* Runs.Runs
    yield* runs.start({ agent: "asker", runId: "r1", input: "go", owner: "ada" })
    yield* asker.await("r1")
    yield* runs.start({ agent: "asker", runId: "r2", input: "go" })
    yield* asker.await("r2")
  }).pipe(Effect.provide(layer))
  return Effect.gen(function*() {
    const { exit } = yield* VirtualTime.run(program)
    yield* exit
    assert.deepStrictEqual(owners, ["ada", undefined])
  })
})
