/** An echo tool, and the transcripts of its calls. */

import type { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Tool } from "@recourse/core"

export const Echo = Tool.make("echo", {
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.String,
  effects: "read",
  execute: ({ text }) => Effect.succeed(text)
})

export const call = (name: string, params: unknown, id?: string): ScriptedModel.ScriptedCall => ({ name, params, id })
