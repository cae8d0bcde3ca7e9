/** Plain functions that hear events. */
import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { Agent, AgentEvent } from "@recourse/core"

const inner = Agent.make("inner", {})
const outer = Agent.make("outer", { tools: [inner.pipe(Agent.asTool("ask", { description: "Asks" }))] })

const script = () =>
  ScriptedModel.layer([ScriptedModel.call("ask", { input: "?" }), ScriptedModel.text("!"), ScriptedModel.text("Done.")])

describe("CurrentHearer", () => {
  it.effect("hears what a listener hears, nested agents included, each event once and in order", () =>
    Effect.gen(function*() {
      const heard: Array<AgentEvent.AgentEvent> = []
      const listened: Array<AgentEvent.AgentEvent> = []
      yield* outer.run("Hi").pipe(
        Effect.provideService(AgentEvent.CurrentHearer, (event) => void heard.push(event)),
        Effect.provide(AgentEvent.listen((event) => Effect.sync(() => listened.push(event)))),
        Effect.provide(script())
      )
      assert.deepStrictEqual(heard, listened)
      assert.deepStrictEqual(heard.map(({ sequence }) => sequence), heard.map((_, n) => n))
      assert.include(heard.map(({ _tag }) => _tag), "AgentFinished")
      assert.strictEqual(heard.at(-1)?._tag, "RunFinished")
    }))

  it.effect("a run goes on when one throws; that is logged once for each run", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      let events = 0
      const answer = yield* outer.run("Hi").pipe(
        Effect.provideService(AgentEvent.CurrentHearer, () => {
          events++
          throw new Error("no disk")
        }),
        Effect.provide(Layer.merge(script(), Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
      )
      assert.strictEqual(answer, "Done.")
      assert.isAbove(events, 5)
      assert.deepStrictEqual(logged, [["A listener failed: the run goes on"]])
    }))
})
