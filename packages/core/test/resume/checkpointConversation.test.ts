/** The conversation at a checkpoint, in a chat's form of a paused run: each call has a result. */
import { assert, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Agent, Approval, Recovery, Tool, ToolCall } from "@recourse/core"
import { Effect, Layer, Redacted, Schema } from "effect"
import type { Prompt } from "effect/ai"
import { lastResults } from "../support/kit.ts"

const { stoppedAt } = await import(
  new URL("../../src/internal/round/resume/pausedTranscript.ts", import.meta.url).href
) as {
  readonly stoppedAt: (checkpoint: unknown, run: { readonly id: string }, shown: object) => Prompt.Prompt
}

const book = Tool.make("book", { effects: "write", success: Schema.String, execute: () => Effect.succeed("booked") })
const pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })

/** Books, and waits before it pays. */
const trip = Tool.make("trip", {
  effects: "read",
  mayRequestApproval: true,
  execute: () =>
    Effect.forEach([book, pay], (tool: Tool.Any) =>
      Effect.provideService(
        (tool as never as { readonly call: Effect.Effect<unknown, never, ToolCall.ToolCall> }).call,
        ToolCall.ToolCall,
        ToolCall.make({ id: tool.name, arguments: {} })
      ), { discard: true })
})

const snapshot = Effect.gen(function*() {
  const agent = Agent.make("clerk", { tools: [book, pay, trip], defaults: { onError: Recovery.standard } } as never)
  const outcome = yield* (agent as never as Agent.Resumable<string, string, never, never, never>).start("go").pipe(
    Effect.provide(Layer.merge(
      Approval.layerKey(Redacted.make("k".repeat(32))),
      ScriptedModel.layer([
        ScriptedModel.calls(["pay", "book", "trip"].map((name) => ({ id: name, name, params: {} })))
      ])
    ))
  )
  assert.strictEqual(outcome._tag, "Paused")
  return (outcome as Approval.Paused).snapshot
})

const shown = { user: (code: string) => code }

it.effect("has completed, pending, and partly completed pending calls", () =>
  Effect.gen(function*() {
    const { content } = stoppedAt(yield* snapshot, { id: "run_1" }, shown)
    assert.deepStrictEqual(content.map(({ role }) => role), ["user", "assistant", "tool"])
    const results = lastResults({ content })
    assert.deepStrictEqual(results.map(({ id, isFailure }) => [id, isFailure]), [
      ["pay", true],
      ["book", false],
      ["trip", true]
    ])
    const [waits, done, inPart] = results.map(({ result }) => result as { readonly [key: string]: string })
    assert.deepInclude(waits, { code: "approval_required", trace_id: "run_1", message_for_user: "approval_required" })
    assert.strictEqual(done as unknown, "booked")
    assert.deepInclude(inPart, {
      code: "outcome_unknown",
      message_for_model: "A part of this call was done. Another part has no approval."
    })
    assert.notStrictEqual(waits!["message_for_model"], inPart!["message_for_model"])
  }))

it.effect("between two answers it has all messages", () =>
  Effect.gen(function*() {
    const { round: _, ...between } = yield* snapshot
    const { content } = stoppedAt(between, { id: "run_1" }, shown)
    assert.deepStrictEqual(content.map(({ role }) => role), ["user", "assistant"])
  }))
