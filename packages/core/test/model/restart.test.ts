/** Streamed answers that break off: restarted if listeners discard them, and in the record otherwise. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, Laws, ScriptedModel } from "@recourse/testing"
import { Agent, type AgentEvent, Approval, ModelError, RunRecord } from "@recourse/core"
import { Effect, Exit, Fiber, Layer, Option, Redacted, Stream } from "effect"
import type { Prompt } from "effect/ai"
import { collect } from "../support/kit.ts"

const cut = ScriptedModel.cut(ScriptedModel.text("The sea is very big"), { after: 4 })
const whole = ScriptedModel.text("The sea is deep")
const retry = (restart: boolean) => Agent.make("poet", { onModelError: () => ModelError.retry({ times: 2, restart }) })
const drained = (agent: { readonly stream: (input: string) => Stream.Stream<AgentEvent.AgentEvent, unknown, never> }) =>
  Drive.drive(Effect.exit(Stream.runDrain(agent.stream("Write"))))

/** The view of a listener that shows text as it arrives, and discards it on request. */
const shownBy = (events: ReadonlyArray<AgentEvent.AgentEvent>): string =>
  events.reduce(
    (text, event) => event._tag === "AnswerRestarted" ? "" : event._tag === "TextDelta" ? text + event.delta : text,
    ""
  )
const lastText = (prompt: Prompt.Prompt) => {
  const { content, options } = prompt.content.at(-1)!
  return [(content as ReadonlyArray<Prompt.TextPart>)[0]!.text, options["recourse"] ?? null]
}

describe("a streamed answer that is cut off", () => {
  it.effect("restarts, and listeners discard the first part", () => {
    const { events, layer } = collect()
    return Effect.gen(function*() {
      const exit = yield* drained(retry(true) as never)
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(shownBy(events), "The sea is deep")
      const tags = events.map(({ _tag }) => _tag)
      assert.isBelow(tags.indexOf("ModelTurnFailed"), tags.indexOf("AnswerRestarted"))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "AnswerRestarted" ? [[event.turn, event.retry, event.text]] : []),
        [[1, 1, "The sea is "]]
      )
      const last = events.at(-1) as AgentEvent.RunFinished
      assert.deepStrictEqual(lastText(last.transcript), ["The sea is deep", null])
      assert.strictEqual(last.transcript.content.length, 2, "what was forgotten is not in the conversation")
      assert.strictEqual(last.usage.turns, 2, "each request is charged")
    }).pipe(Effect.provide(Layer.merge(ScriptedModel.layer([cut, whole]), layer)))
  })

  it.effect("fails by default, with the marked text in the record", () => {
    const { events, layer } = collect()
    return Effect.gen(function*() {
      const exit = yield* drained(retry(false) as never)
      assert.isTrue(Exit.isFailure(exit))
      assert.notInclude(events.map(({ _tag }) => _tag), "AnswerRestarted")
      const { transcript } = events.at(-1) as AgentEvent.RunFinished
      assert.deepStrictEqual(lastText(transcript), ["The sea is ", { cutOff: true }])
      assert.deepStrictEqual(Laws.problemsOfHistory(transcript), [])
      assert.strictEqual(shownBy(events), "The sea is ")
    }).pipe(Effect.provide(Layer.merge(ScriptedModel.layer([cut]), layer)))
  })

  it.effect("a run with an interrupted answer resumes without that part", () => {
    const { events, layer } = collect()
    const agent = Agent.make("poet", {})
    const slow = ScriptedModel.layer([cut])
    const key = Approval.layerKey(Redacted.make("k".repeat(32)))
    return Effect.gen(function*() {
      const exit = yield* Drive.drive(Effect.exit(Stream.runDrain(agent.stream("Write"))).pipe(Effect.provide(slow)))
      const cause = Exit.isFailure(exit) ? exit.cause : undefined
      const record = Option.getOrThrow(RunRecord.fromCause(cause!))
      assert.deepStrictEqual(lastText(record.transcript), ["The sea is ", { cutOff: true }])
      const snapshot = yield* RunRecord.snapshot(record)
      const resumed = agent.resume(Option.getOrThrow(snapshot as never), [])
      yield* resumed.pipe(
        Effect.provide(
          ScriptedModel.layer(({ prompt }) => ScriptedModel.text(prompt.content.map(({ role }) => role).join(" ")))
        )
      )
      const last = events.at(-1) as AgentEvent.RunFinished
      assert.deepStrictEqual(last.transcript.content.map(({ role }) => role), ["user", "assistant"])
    }).pipe(Effect.provide(Layer.merge(layer, key)))
  })

  it.effect("a repeated answer without streaming leaves no trace", () => {
    const { layer } = collect()
    return Effect.gen(function*() {
      const { exit, transcript } = yield* Drive.drive(retry(false).report("Write"))
      assert.deepStrictEqual(exit, Exit.succeed("The sea is deep"))
      assert.strictEqual(transcript.content.length, 2)
    }).pipe(Effect.provide(Layer.merge(
      ScriptedModel.layer([ScriptedModel.text("The sea is very", { finishReason: "length" }), whole]),
      layer
    )))
  })

  it.effect("is retried silently if no part was emitted", () => {
    const { events, layer } = collect()
    return Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(drained(retry(true) as never))
      yield* Fiber.join(fiber)
      assert.notInclude(events.map(({ _tag }) => _tag), "AnswerRestarted")
    }).pipe(Effect.provide(Layer.merge(ScriptedModel.layer([ScriptedModel.failure("NetworkError"), whole]), layer)))
  })
})
