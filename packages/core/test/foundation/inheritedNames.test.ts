import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { Agent, Approval, Catalogue, ErrorProjection, Recovery, Tool } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

/** Inherited properties of every object. */
const names = [...Object.getOwnPropertyNames(Object.prototype), "prototype", "then"]

const results = (transcript: Parameters<typeof lastResults>[0]) =>
  transcript.content.filter(({ role }) => role === "tool").flatMap((message) => lastResults({ content: [message] }))

describe("names that every object has", () => {
  it.effect("are valid names of tools: offered, run, recovered, emitted", () =>
    Effect.gen(function*() {
      for (const name of names) {
        const tool = Tool.make(name, { success: Schema.String, effects: "read", execute: () => Effect.succeed(name) })
        const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
        const model = ScriptedModel.layer([ScriptedModel.call(name, {}), ScriptedModel.text("done")])
        const { offered, transcript } = yield* Effect.gen(function*() {
          const { transcript } = yield* agent.report("x")
          const [first] = yield* (yield* ScriptedModel.ScriptedModel).requests
          return { transcript, offered: first?.tools }
        }).pipe(Effect.provide(model))
        assert.deepStrictEqual(offered, [name])
        assert.deepStrictEqual(results(transcript).map(({ isFailure, result }) => [isFailure, result]), [[false, name]])
      }
    }))

  it.effect("are names of tools that the agent does not have", () =>
    Effect.gen(function*() {
      const tool = Tool.make("real", { effects: "read", execute: () => Effect.void })
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const calls = names.map((name) => ({ name, params: {} }))
      const { transcript } = yield* agent.report("x").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.calls(calls), ScriptedModel.text("done")]))
      )
      const codes = results(transcript).map(({ result }) => (result as { readonly code: string }).code)
      assert.deepStrictEqual(codes, names.map(() => "tool_not_found"))
    }))

  it.effect("are codes of errors", () =>
    Effect.gen(function*() {
      for (const code of names) {
        const Declared = Schema.Struct({ why: Schema.String }).annotate(ErrorProjection.declare({ code }))
        const tool = Tool.make("t", { failure: Declared, effects: "read", execute: () => Effect.fail({ why: "x" }) })
        const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
        const { transcript } = yield* agent.report("x").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("t", {}), ScriptedModel.text("done")]))
        )
        const failure = results(transcript)[0]?.result as ErrorProjection.ToolFailure
        assert.deepStrictEqual(
          [failure.code, failure.message_for_model, failure.message_for_user],
          [code, "Tool execution failed.", Catalogue.en.execution_error]
        )
        assert.strictEqual(Catalogue.text({ en: Catalogue.en }, code, code), Catalogue.en.execution_error)
      }
    }))

  it.effect("are valid names in a run that waits and resumes", () =>
    Effect.gen(function*() {
      for (const name of names) {
        const tool = Tool.make(name, {
          success: Schema.String,
          effects: "write",
          needsApproval: true,
          execute: () => Effect.succeed(name)
        })
        const agent = Agent.make("a", { tools: [tool] })
        const done = yield* Effect.gen(function*() {
          const waiting = yield* agent.start("x")
          if (waiting._tag !== "Paused") return assert.fail("it does not wait")
          const snapshot = JSON.parse(JSON.stringify(waiting.snapshot)) as unknown
          return yield* agent.resume(snapshot, [Approval.approve(waiting.pending[0]!)])
        }).pipe(Effect.provide([
          ScriptedModel.layer([ScriptedModel.call(name, {}), ScriptedModel.text("done")]),
          Approval.layerKey(Redacted.make("k".repeat(32)))
        ]))
        assert.deepStrictEqual(done._tag === "Completed" && done.output, "done")
      }
    }))
})
