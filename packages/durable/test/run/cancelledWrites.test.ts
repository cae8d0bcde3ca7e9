/** Writes of a run that another process cancels: after `cancel` has answered, none starts. */
import { assert, it } from "@effect/vitest"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"

const model = ScriptedModel.layer(({ prompt: { content } }) => {
  const turn = content.filter(({ role }) => role === "tool").length
  return turn < 40 ? ScriptedModel.call("pay", {}, { id: `c${turn}` }) : ScriptedModel.text("end")
})

/** A store whose wake-ups are lost. */
const deaf = Layer.effect(
  RunStore.RunStore,
  Effect.map(RunStore.RunStore, (store) => ({ ...store, listen: () => Effect.void }))
).pipe(Layer.provide(RunStore.layerMemory))

const shop = (started: Array<string>, undone: Array<string>, isCompensated: boolean) => {
  const pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    ...(isCompensated ? { compensate: () => Effect.sync(() => undone.push("pay")) } : undefined),
    execute: () => Effect.as(Effect.andThen(Effect.sync(() => started.push("pay")), Effect.sleep("25 millis")), "paid")
  })
  const defaults = { onError: Recovery.standard }
  const budget = { turns: 50 }
  return isCompensated
    ? Durable.make(Agent.make("shop", { tools: [pay], defaults, budget, compensation: {} }))
    : Durable.make(Agent.make("shop", { tools: [pay], defaults, budget }))
}

for (const isCompensated of [false, true]) {
  it.effect(`start no write after the cancellation${isCompensated ? ", and are compensated" : ""}`, () =>
    Effect.gen(function*() {
      for (const after of [0, 10, 25, 30, 130, 333]) {
        const [started, undone] = [[] as Array<string>, [] as Array<string>]
        const agent = shop(started, undone, isCompensated)
        yield* Effect.gen(function*() {
          const store = yield* RunStore.RunStore
          yield* agent.start("r", "go")
          yield* TestClock.adjust(after)
          // The runner hears no wake-up, and reads of it at its next poll.
          assert.isTrue(yield* store.cancel("r"))
          const before = started.length
          yield* TestClock.adjust("1 minute")
          assert.strictEqual((yield* agent.poll("r")).status, "cancelled")
          assert.strictEqual(started.length, before, `cancelled after ${after} ms`)
          // The one at work has an unknown outcome, which no program may undo by itself.
          if (isCompensated) assert.isAtLeast(undone.length, before - 1)
        }).pipe(
          Effect.provide(Durable.layer([agent]).pipe(Layer.provide(model), Layer.provideMerge(deaf)))
        )
      }
    }))
}
