/**
 * Another answer to the last message while a run waits: the model reads the run's calls, and its question is withdrawn.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Audit, Conversation, Recovery, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"

const done: Array<string> = []

const execute = (name: string) => () => Effect.sync(() => (done.push(name), name))

const Book = Tool.make("book", { success: Schema.String, effects: "write", execute: execute("book") })

const Pay = Tool.make("pay", {
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: execute("pay")
})

const clerk = Agent.make("clerk", {
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  tools: [Book, Pay, Tool.client("sign", { success: Schema.String, effects: "write" })],
  defaults: { onError: Recovery.standard }
})

const thread = { owner: "ada", thread: "t1" }

/** Results of a prompt: the value of a call that was done, the code of one that was not. */
const resultsIn = (prompt: Prompt.Prompt) =>
  prompt.content.flatMap((message) =>
    message.role !== "tool" ? [] : message.content.flatMap((part) =>
      part.type !== "tool-result"
        ? []
        : [[part.name, part.isFailure ? (part.result as { readonly code?: string }).code : part.result] as const]
    )
  )

describe("a message that is answered again while a run waits", () => {
  it.effect("is answered by a model that reads the waiting answer's calls", () =>
    Effect.gen(function*() {
      done.splice(0)
      const audited: Array<string> = []
      const { prompt, snapshot } = yield* Effect.gen(function*() {
        yield* Conversation.send(clerk, { ...thread, message: "Book, pay and sign" })
        return yield* Effect.scoped(Conversation.begin({ ...thread, regenerate: true }))
      }).pipe(Effect.provide([
        Conversation.layerMemory,
        Approval.layerKey(Redacted.make("a key of at least thirty-two bytes")),
        Audit.layer(({ decision, tool }) => Effect.sync(() => void audited.push(`${tool} ${decision}`))),
        ScriptedModel.layer([
          ScriptedModel.calls(["book", "pay", "sign"].map((name) => ({ name, params: {} })))
        ])
      ]))
      assert.deepStrictEqual(done, ["book"])
      assert.deepStrictEqual(resultsIn(prompt), [
        ["book", "book"],
        ["pay", "approval_required"],
        ["sign", "outcome_unknown"]
      ])
      assert.isUndefined(snapshot)
      assert.include(audited, "sign outcome_unknown")
    }))

  it.effect("fails with ThreadNotFound if there is no thread", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Conversation.begin({ ...thread, regenerate: true })))
      assert.strictEqual(error._tag, "ThreadNotFound")
    }).pipe(Effect.provide(Conversation.layerMemory)))
})
