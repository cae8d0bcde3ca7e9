/** Failed calls in a chat: the model of the next turn reads those that may have been done, and forgets the others. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Conversation,
  ErrorProjection,
  History,
  IdempotencyLedger,
  Recovery,
  Tool,
  ToolCall
} from "@recourse/core"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { by, Down } from "../support/kit.ts"
import { type AnyTool, toolOf } from "../support/looseTools.ts"

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ model: "Declined.", outcome: "not_done" })
) {}

const { call, text } = ScriptedModel
const chat = { owner: "ada", thread: "t1" }
const paid = Effect.succeed("paid")
const escalated = ToolCall.escalate({ reason: "A person has to sign.", code: "signature" })
const pay = toolOf("pay", { effects: "write", execute: () => paid })

/** An agent that pays, and hands its task back. */
const cashier = Agent.make("cashier", {
  tools: [pay, Tool.escalate] as never,
  defaults: { onError: Recovery.keepGoing }
}).pipe(
  Agent.provide(ScriptedModel.layer(ScriptedModel.steps([
    call("pay", {}),
    call("escalate", { reason: "A person has to sign.", severity: "low" })
  ]))),
  Agent.asTool("act", { description: "Pays", effects: "write" })
) as never as AnyTool

const acting = (more: object): AnyTool => toolOf("act", more)

/** Calls that may have been done, by their end. */
const kept: Readonly<Record<string, AnyTool>> = {
  "a write that escalates": acting({ effects: "write", execute: () => Effect.andThen(paid, escalated) }),
  "a read that escalates after a write by another tool": acting({
    effects: "read",
    execute: () => Effect.andThen(pay.call, escalated)
  }),
  "an agent that pays and escalates": cashier,
  "a write with an invalid result": acting({ effects: "write", execute: () => Effect.succeed(5) }),
  "an idempotent call without an answer": acting({
    effects: "idempotent",
    timeout: "1 second",
    execute: () => Effect.never
  }),
  "an idempotent call without an answer, and declined at its second attempt": (() => {
    let attempts = 0
    return acting({
      effects: "idempotent",
      timeout: "1 second",
      failure: Declined,
      execute: () => Effect.suspend(() => ++attempts === 1 ? Effect.never : Effect.fail(new Declined()))
    }).pipe(Tool.onError(Recovery.retry({ times: 1 }) as never)) as AnyTool
  })(),
  "a failed call without declared effects": acting({ execute: () => Effect.fail(new Down()) })
}

/** Calls that were not done. */
const forgotten: Readonly<Record<string, AnyTool>> = {
  "a declined write": acting({ effects: "write", failure: Declined, execute: () => Effect.fail(new Declined()) }),
  "a failed read": acting({ effects: "read", execute: () => Effect.fail(new Down()) }),
  "a read with an invalid result": acting({ effects: "read", execute: () => Effect.succeed(5) }),
  "a read that escalates": acting({ effects: "read", execute: () => escalated }),
  "a call with invalid arguments": acting({
    effects: "write",
    parameters: Schema.Struct({ to: Schema.String }),
    execute: () => paid
  })
}

/** The states of the calls that the model of the next turn reads. */
const statesInNextTurn = (tool: AnyTool) =>
  Effect.gen(function*() {
    const agent = Agent.make("clerk", {
      input: Prompt.Prompt,
      prompt: (conversation: Prompt.Prompt) => conversation,
      tools: [tool],
      defaults: { onError: Recovery.keepGoing }
    })
    const sent = yield* Conversation.send(agent as never as Agent.Agent<Prompt.Prompt, string>, {
      ...chat,
      message: "Pay"
    })
    assert.deepStrictEqual(History.claims(sent.record!.transcript).map(({ tool }) => tool), ["act"])
    const { prompt } = yield* Effect.scoped(Conversation.begin({ ...chat, message: "And?" }))
    return History.claims(prompt).map(({ state }) => state)
  }).pipe(
    Effect.provide(Layer.mergeAll(
      Conversation.layerMemory,
      ScriptedModel.layer(({ prompt }) =>
        prompt.content.some(({ role }) => role === "tool")
          ? text("Done.")
          : call("act", tool === cashier ? { input: "Pay" } : {})
      )
    ))
  )

describe("the next turn of a chat", () => {
  it.live.each(Object.entries(kept))("reads %s as unknown", ([, tool]) =>
    Effect.gen(function*() {
      const { exit } = yield* VirtualTime.run(statesInNextTurn(tool))
      assert.deepStrictEqual(yield* exit, ["unknown"])
    }))

  it.effect("reads a call as unknown whose key has other arguments", () =>
    Effect.gen(function*() {
      const tool = acting({
        effects: "write",
        idempotency: { key: () => "order 7" },
        parameters: Schema.Struct({ to: Schema.optionalKey(Schema.String) }),
        execute: () => paid
      })
      yield* tool.call.pipe(by({ to: "Bo" }))
      assert.deepStrictEqual(yield* statesInNextTurn(tool), ["unknown"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect.each(Object.entries(forgotten))("forgets %s", ([, tool]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* statesInNextTurn(tool), [])
    }))
})
