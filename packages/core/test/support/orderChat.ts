/** A chat about orders. */

import { ScriptedModel } from "@recourse/testing"
import { Conversation, Recovery } from "@recourse/core"
import { Effect, Layer } from "effect"
import { Prompt } from "effect/ai"

export const chat = { owner: "ada", thread: "t1" }

export const options = {
  input: Prompt.Prompt,
  prompt: (conversation: Prompt.Prompt) => conversation,
  instructions: "You help.",
  defaults: { onError: Recovery.standard }
} as const

export const roles = (prompt: Prompt.Prompt) => prompt.content.map(({ role }) => role)

export const requests = Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)

export const given = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.provide(Layer.mergeAll(Conversation.layerMemory, ScriptedModel.layer(turns)))
