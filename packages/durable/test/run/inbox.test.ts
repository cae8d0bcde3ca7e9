/** Inbox of a durable run: each message joins the run or is withdrawn, over executions and races. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Fiber, Layer, Schema } from "effect"

const slow = Tool.make("slow", {
  success: Schema.Null,
  effects: "read",
  execute: () => Effect.as(Effect.sleep("10 seconds"), null)
})
const clerk = Durable.make(Agent.make("clerk", { tools: [slow], defaults: { onError: Recovery.keepGoing } }))

const play = <A, E>(effect: Effect.Effect<A, E, Runs.Runs | RunStore.RunStore | ScriptedModel.ScriptedModel>) =>
  VirtualTime.run(
    effect.pipe(
      Effect.provide(
        Durable.layer([clerk]).pipe(
          Layer.provideMerge(
            ScriptedModel.layer([
              ScriptedModel.call("slow", {}),
              ScriptedModel.call("slow", {}),
              ScriptedModel.text("Done.")
            ])
          ),
          Layer.provideMerge(RunStore.layerMemory)
        )
      )
    )
  )

const sentTo = (
  requests: ReadonlyArray<
    { readonly prompt: { readonly content: ReadonlyArray<{ readonly role: string; readonly content: unknown }> } }
  >
) =>
  requests.map(({ prompt }) =>
    prompt.content.flatMap(({ content, role }) => role === "user" ? [JSON.stringify(content)] : []).length
  )

describe("a message for a durable run", () => {
  it.effect("joins it once, however often it is sent", () =>
    Effect.gen(function*() {
      yield* play(Effect.gen(function*() {
        const runs = yield* Runs.Runs
        yield* runs.start({ agent: "clerk", input: "Hello", runId: "r1" })
        yield* Effect.sleep("1 second")
        const message = { id: "m1", content: "In French." }
        const sent = yield* Effect.all([runs.addMessage!("r1", message), runs.addMessage!("r1", message)], {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(sent, [true, true])
        yield* runs.wait("r1")
        assert.isTrue(yield* runs.addMessage!("r1", message))
        assert.isFalse(yield* runs.addMessage!("r1", { id: "m2", content: "Late." }))
        assert.deepStrictEqual(sentTo(yield* (yield* ScriptedModel.ScriptedModel).requests), [1, 2, 2])
      }))
    }))

  it.effect("is in the run or withdrawn, whenever its sender leaves", () =>
    Effect.gen(function*() {
      const seen = new Set<string>()
      for (const millis of [0, 1, 8_999, 9_000, 9_001, 12_000]) {
        yield* play(Effect.gen(function*() {
          const runs = yield* Runs.Runs
          yield* runs.start({ agent: "clerk", input: "Hello", runId: "r1" })
          yield* Effect.sleep("1 second")
          const sender = yield* Effect.forkChild(runs.addMessage!("r1", { id: "m1", content: "In French." }))
          yield* Effect.sleep(millis)
          yield* Fiber.interrupt(sender)
          yield* runs.wait("r1")
          const hasJoined = yield* runs.addMessage!("r1", { id: "m1", content: "In French." })
          const counts = sentTo(yield* (yield* ScriptedModel.ScriptedModel).requests)
          assert.deepStrictEqual(counts, hasJoined ? [1, 2, 2] : [1, 1, 1], `${millis}`)
          seen.add(`${hasJoined}`)
        }))
      }
      assert.deepStrictEqual([...seen].toSorted(), ["false", "true"])
    }))

  it.effect("has names that no signal can take", () =>
    Effect.gen(function*() {
      yield* play(Effect.gen(function*() {
        const runs = yield* Runs.Runs
        yield* runs.start({ agent: "clerk", input: "Hello", runId: "r1" })
        const exit = yield* Effect.exit(Signal.send("r1", "recourse/message/1", "x"))
        assert.isTrue(Exit.isFailure(exit))
        assert.include(JSON.stringify(exit), "InvalidInput")
      }))
    }))
})
