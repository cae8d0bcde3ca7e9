/** Requests of turns. */

import { ScriptedModel } from "@recourse/testing"
import { Tool } from "@recourse/core"
import { Effect, Schema } from "effect"
import type { Prompt } from "effect/ai"

export const Echo = Tool.make("echo", {
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.String,
  effects: "read",
  execute: ({ text }) => Effect.succeed(text)
})

export const Wipe = Tool.make("wipe", { effects: "write", execute: () => Effect.die("must not run") })

export const requests = Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)

export const given = (...turns: ReadonlyArray<ScriptedModel.Turn>) => Effect.provide(ScriptedModel.layer(turns))

export const texts = (prompt: Prompt.Prompt) =>
  prompt.content.map(({ content, role }) =>
    `${role}: ${typeof content === "string" ? content : content.map((part) => "text" in part ? part.text : part.type)}`
  )
