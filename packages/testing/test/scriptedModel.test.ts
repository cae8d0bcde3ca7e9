import { assert, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Clock, Effect, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"

it.effect("an answer with a pace waits before each of its parts", () =>
  Effect.gen(function*() {
    const times: Array<number> = []
    yield* LanguageModel.streamText({ prompt: "Count" }).pipe(
      Stream.runForEach((part) =>
        part.type === "text-delta"
          ? Effect.map(Clock.currentTimeMillis, (at) => void times.push(at))
          : Effect.void
      ),
      Effect.provide(ScriptedModel.layer([ScriptedModel.text("one two three", { pace: "100 millis" })])),
      Effect.forkChild
    )
    for (let step = 0; step < 8; step++) yield* TestClock.adjust("100 millis")
    const [first = 0] = times
    assert.deepStrictEqual(times.map((at) => at - first), [0, 100, 200])
  }))

it.effect("a script of other values than turns names the first of them", () =>
  Effect.gen(function*() {
    const problemOf = (turns: unknown) =>
      Effect.map(
        Effect.exit(Effect.provide(LanguageModel.generateText({ prompt: "Hi" }), ScriptedModel.layer(turns as never))),
        String
      )
    for (const turns of ["Hello", undefined, ScriptedModel.text("Hello")]) {
      assert.include(yield* problemOf(turns), "its turns have to be a list or a function")
    }
    for (const turns of [[ScriptedModel.text("Hello"), "Hello"], [ScriptedModel.text("a"), { role: "assistant" }]]) {
      assert.include(yield* problemOf(turns), "turn 2 is no turn of a script")
    }
  }))
