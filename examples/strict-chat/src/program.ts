/** A chat of seven turns with a model that plays a script, and often does not do well. */
import { ScriptedModel, SideEffects, VirtualTime } from "@recourse/testing"
import { Effect, Layer } from "effect"
import * as Chat from "./chat.ts"
import * as Double from "./double.ts"
import * as Texts from "./texts.ts"

const { call, text } = ScriptedModel

interface Turn {
  readonly user: string
  readonly model: ReadonlyArray<ScriptedModel.Turn>
}

const turns: ReadonlyArray<Turn> = [
  { user: "Where is my order?", model: [call("order_status", {})] },
  { user: "It is A-1001.", model: [call("order_status", {}), text("A-1001 is on its way.")] },
  { user: "I want my money back.", model: [call("refund", { reason: "late" })] },
  { user: "For A-1001!", model: [call("refund", { reason: "late" }), text("Your money is on its way.")] },
  { user: "And where is A-3001?", model: [call("order_status", { orderId: "A-3001" })] },
  { user: "And A-2001?", model: [call("order_status", { orderId: "A-2001" }), text("A-2001 is on its way, too.")] },
  { user: "Who are you?", model: [call("who_am_i", {}), call("whoami", {}), call("me", {})] }
]

const chat = Effect.gen(function*() {
  const { requests } = yield* ScriptedModel.ScriptedModel
  let conversation = Chat.begin
  let before = 0
  const lines: Array<string> = []
  for (const { user } of turns) {
    const { exit } = yield* VirtualTime.run(Chat.say(conversation, user))
    const turn = yield* exit
    const now = (yield* requests).length
    lines.push(
      `user       ${user}`,
      `assistant  ${turn.told}`,
      `           (${turn.exit._tag === "Success" ? "answered" : "stopped"} after ${
        now - before
      } model calls; ${turn.conversation.content.length} messages go on)`
    )
    before = now
    conversation = turn.conversation
  }
  const done = yield* (yield* SideEffects.SideEffects).all
  return [...lines, "", ...done.map(({ details, tool }) => `done: ${tool} ${String(details)}`)]
})

/** The chat, line by line. */
export const program = chat.pipe(
  Effect.provide(Layer.mergeAll(
    Double.layer.pipe(Layer.provideMerge(SideEffects.layer)),
    ScriptedModel.layer(turns.flatMap(({ model }) => model)),
    Texts.layer
  ))
)
