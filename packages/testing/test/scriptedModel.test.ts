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
