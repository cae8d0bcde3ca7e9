/** Turns of the strict chat, by a script. */

import { ScriptedModel, SideEffects, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer } from "effect"
import type { Prompt } from "effect/ai"
import { Audit, Catalogue } from "@recourse/core"
import * as Chat from "../../src/chat.ts"
import * as Double from "../../src/double.ts"
import * as Texts from "../../src/texts.ts"

const { call, text } = ScriptedModel

export const done = text("done")

export const status = (orderId: string) => call("order_status", { orderId })

export interface Turn {
  readonly user: string
  readonly model: ReadonlyArray<ScriptedModel.Turn>
}

/** Plays a chat in virtual time, and returns everything that a rule is about, for each turn. */
export const play = (turns: ReadonlyArray<Turn>, locale = "en") => {
  const audit: Array<Audit.AuditRecord> = []
  return Effect.gen(function*() {
    const script = yield* ScriptedModel.ScriptedModel
    const world = yield* SideEffects.SideEffects
    let conversation = Chat.begin
    const played = []
    for (const { user } of turns) {
      const [requests, effects, records] = [(yield* script.requests).length, (yield* world.all).length, audit.length]
      const { elapsed, exit } = yield* VirtualTime.run(Chat.say(conversation, user))
      const turn = yield* exit
      conversation = turn.conversation
      played.push({
        told: turn.told,
        error: Exit.isFailure(turn.exit) ? Cause.squash(turn.exit.cause) : undefined,
        elapsed,
        conversation: spoken(conversation),
        requests: (yield* script.requests).slice(requests).map(({ prompt }) => spoken(prompt)),
        done: (yield* world.all).slice(effects).map(({ details, tool }) => `${tool} ${String(details)}`),
        audit: audit.slice(records).map(({ decision, tool }) => `${tool} ${decision}`)
      })
    }
    yield* script.assertComplete
    return played
  }).pipe(Effect.provide(Layer.mergeAll(
    Double.layer.pipe(Layer.provideMerge(SideEffects.layer)),
    ScriptedModel.layer(turns.flatMap(({ model }) => model)),
    Texts.layer,
    Catalogue.layerLocale(locale),
    Audit.layer((record) => Effect.sync(() => audit.push(record)))
  )))
}

/** A conversation in short, without system messages. */
export const spoken = ({ content }: Prompt.Prompt): ReadonlyArray<string> =>
  content.flatMap((message) =>
    message.role === "system" ? [] : `${message.role}: ${message.content.map(partOf).join(" + ")}`
  )

export const partOf = (part: Prompt.Part): string => {
  switch (part.type) {
    case "text":
      return part.text
    case "tool-call":
      return `${part.id} ${part.name} ${JSON.stringify(part.params)}`
    case "tool-result":
      return `${part.id} ${
        part.isFailure ? (part.result as { readonly code: string }).code : JSON.stringify(part.result)
      }`
    default:
      return part.type
  }
}

export const shipped = (orderId: string) => JSON.stringify({ orderId, state: "shipped" })
