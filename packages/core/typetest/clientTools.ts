/** What client tools add to types: agents that have them may wait, and errors that the page may declare are typed. */
import { Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, type Approval, Recovery, Tool, type ToolError } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

class Off extends Schema.TaggedError<Off>()("Off", {}) {}

const Plain = Tool.client("plain", { effects: "read" })
const Declared = Tool.client("declared", {
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Struct({ city: Schema.String }),
  failure: Off,
  effects: "read"
})

holds<Equals<Extract<Tool.Error<typeof Plain>, ToolError.ExecutionError<never>>, never>>()
holds<
  Equals<Extract<Tool.Error<typeof Declared>, { readonly _tag: "ExecutionError" }>, ToolError.ExecutionError<Off>>
>()
holds<Equals<Tool.Success<typeof Declared>, { readonly city: string }>>()

const agent = Agent.make("agent", { tools: [Plain, Declared], defaults: { onError: Recovery.standard } })
holds<Equals<Extract<Agent.Error<typeof agent>, Approval.ApprovalRequired>, Approval.ApprovalRequired>>()

// --- made in place, with what is left out

const inPlace = Agent.make("agent", {
  tools: [Tool.client("plain", { effects: "read" }), Tool.client("sign", { success: Schema.String, effects: "write" })],
  defaults: { onError: Recovery.standard }
})
holds<Equals<Agent.Services<typeof inPlace>, LanguageModel.LanguageModel | Approval.SnapshotKey>>()

// @ts-expect-error a client tool has no executor
Tool.client("wrong", { execute: () => undefined })
