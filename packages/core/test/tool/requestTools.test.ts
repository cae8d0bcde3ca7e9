/** Tools of a request: which programs offer them, in a start, an explanation and a resumption. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, ConfigurationError, RequestInput, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"

const assistant = Agent.make("assistant", {
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  tools: [Tool.client("position", { parameters: Schema.Struct({}), success: Schema.String })]
})

const question = Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text: "Show the map." })] })

const withMap = Prompt.fromMessages([
  RequestInput.addTools(question, [{
    name: "show_map",
    parameters: { type: "object", properties: { zoom: { type: "integer" } }, required: ["zoom"] }
  }])
])

const services = () =>
  [
    ScriptedModel.layer([ScriptedModel.call("show_map", { zoom: 3 }), ScriptedModel.text("There.")]),
    Approval.layerKey(Redacted.make("a key of the request tools with 32 bytes or more"))
  ] as const

const started = Effect.map(assistant.start(withMap), (outcome) => {
  assert.strictEqual(outcome._tag, "Paused")
  return (outcome as Approval.Paused).snapshot
})

const problemOf = (exit: Exit.Exit<unknown, unknown>): unknown => {
  const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  return defect instanceof ConfigurationError.ConfigurationError ? defect.problem : defect
}

describe("tools of a request", () => {
  it.effect("are offered, explained and resumed within withTools", () =>
    Effect.gen(function*() {
      const snapshot = yield* RequestInput.withTools(started)
      const [call] = snapshot.round!.pending
      assert.deepInclude(call, { code: "client_tool", tool: "show_map" })
      assert.isTrue((yield* RequestInput.withTools(assistant.explain(snapshot))).canResume)
      const outcome = yield* RequestInput.withTools(assistant.resume(snapshot, [Approval.respond(call!, "shown")]))
      assert.deepInclude(outcome, { _tag: "Completed", output: "There." })
    }).pipe(Effect.provide([...services()])))

  it.effect("end a run outside withTools, and name that function", () =>
    Effect.gen(function*() {
      const snapshot = yield* RequestInput.withTools(started)
      const decisions = [Approval.respond(snapshot.round!.pending[0]!, "shown")]
      for (const exit of [yield* Effect.exit(started), yield* Effect.exit(assistant.resume(snapshot, decisions))]) {
        assert.include(problemOf(exit), "RequestInput.withTools")
      }
    }).pipe(Effect.provide([...services()])))
})
