/** The modules that the generated programs import: only the parts that they use, so that the page loads quickly. */
import { Agent, ModelError, Recovery, Tool, ToolCall } from "@recourse/core"
import { JsonRepair } from "@recourse/json-repair"
import { FaultPlan, ScriptedModel, SideEffects } from "@recourse/testing"
import { Data, Effect, Schema } from "effect"

export type Modules = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export const modules: Modules = {
  effect: { Data, Effect, Schema },
  "@recourse/core": { Agent, ModelError, Recovery, Tool, ToolCall },
  "@recourse/json-repair": { JsonRepair },
  "@recourse/testing": { FaultPlan, ScriptedModel, SideEffects }
}
