/** The streamed loop. */

import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema, Stream } from "effect"
import type { Prompt } from "effect/ai"
import { type LanguageModel, LanguageModel as Ai } from "effect/ai"
import { Agent, AgentEvent, Recovery, Tool } from "@recourse/core"
import { call, Echo } from "../support/echoes.ts"

describe("streaming", () => {
  const shape = (prompt: Prompt.Prompt) => JSON.stringify(prompt.content).replaceAll(/run_[\w-]+/g, "run")
  const scripts: Record<string, ReadonlyArray<ScriptedModel.Turn>> = {
    "an answer": [ScriptedModel.text("one two three")],
    "tools": [
      ScriptedModel.calls([call("echo", { text: "a" }), call("nope", {}), call("echo", "bad{")], {
        text: "let me see"
      }),
      ScriptedModel.text("ok")
    ],
    "a failing tool": [ScriptedModel.calls([call("echo", { text: "a" }), call("boom", {})])],
    "a failing model": [ScriptedModel.call("echo", { text: "a" }), ScriptedModel.failure("NetworkError")],
    "reasoning": [{ ...ScriptedModel.text("ok"), reasoning: "hmm" }],
    "a correction": [ScriptedModel.text("far too long an answer"), ScriptedModel.text("ok")]
  }
  type Model = Layer.Layer<LanguageModel.LanguageModel | ScriptedModel.ScriptedModel>
  const direct = (model: Model): Model => model
  /** The same model without its hooks, like any other `LanguageModel`. */
  const standard = (model: Model): Model =>
    Layer.effect(
      Ai.LanguageModel,
      Effect.map(
        Ai.LanguageModel,
        (service) => Object.fromEntries(Object.entries(service)) as never as Ai.LanguageModel
      )
    ).pipe(Layer.provideMerge(model))

  for (const [name, script] of Object.entries(scripts)) {
    it.effect(`gives the same transcript and outcome: ${name}`, () =>
      Effect.gen(function*() {
        const boom = Tool.make("boom", { execute: () => Effect.fail("x" as const) })
        const agent = Agent.make("a", {
          tools: [Echo, boom],
          output: Schema.String.check(Schema.isMaxLength(15)),
          defaults: { onError: Recovery.standard }
        })
        const records: Array<unknown> = []
        for (
          const [streaming, path] of [[false, direct], [true, direct], [false, standard], [true, standard]] as const
        ) {
          const requests = yield* Effect.gen(function*() {
            const exit: Exit.Exit<unknown, unknown> = streaming
              ? yield* Effect.exit(Stream.runLast(agent.stream("x")))
              : yield* Effect.exit(agent.run("x"))
            const script = yield* ScriptedModel.ScriptedModel
            return {
              ok: Exit.isSuccess(exit),
              prompts: (yield* script.requests).map((request) => shape(request.prompt))
            }
          }).pipe(Effect.provide(path(ScriptedModel.layer(script))))
          records.push(requests)
        }
        for (const record of records) assert.deepStrictEqual(record, records[0])
      }))
  }

  it.effect("sends deltas and exactly one terminal event, which is the last", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(Agent.make("a", { tools: [Echo] }).stream("x")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("echo", { text: "a" }), ScriptedModel.text("one two")]))
      )
      const text = events.flatMap((event) => event._tag === "TextDelta" ? [event.delta] : [])
      assert.deepStrictEqual(text, ["one ", "two"])
      assert.strictEqual(events.filter((event) => event._tag === "RunFinished").length, 1)
      const last = events.at(-1)
      assert.isTrue(last?._tag === "RunFinished" && last.output === "one two")
      const isEvent = Schema.is(AgentEvent.AgentEvent)
      assert.isTrue(events.every((event) => isEvent(event)))
    }))

  it.effect("delivers the terminal event before it fails", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const exit = yield* Agent.make("a", {}).stream("x").pipe(
        Stream.runForEach((event) => Effect.sync(() => void seen.push(event._tag))),
        Effect.exit,
        Effect.provide(ScriptedModel.layer([ScriptedModel.failure("NetworkError")]))
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(seen.at(-1), "RunFinished")
    }))

  it.effect("stops the run when the consumer stops", () =>
    Effect.gen(function*() {
      let stopped = 0
      const hang = Tool.make("hang", {
        execute: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void stopped++))
      })
      yield* Agent.make("a", { tools: [hang] }).stream("x").pipe(
        Stream.takeUntil((event) => event._tag === "ToolAttempt"),
        Stream.runDrain,
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("hang", {})]))
      )
      assert.strictEqual(stopped, 1)
    }))
})
