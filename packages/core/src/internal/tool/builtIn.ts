/** Built-in tools for agents that fix calls: `escalate` and `throwException`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AgentException, Escalated, type Escalation, Severity } from "../../ToolError.ts"
import { escalate as escalateArguments } from "../recovery/escalate.ts"
import { CurrentRun } from "../run/run.ts"
import { make } from "./makeTool.ts"
import { onError } from "./onToolError.ts"
import type { Tool } from "./tool.ts"

const escalation = Schema.Struct({
  reason: Schema.String.annotate({ description: "The problem, and everything that is needed to solve it" }),
  severity: Severity.annotate({ description: "How urgent it is" }).pipe(Schema.optionalKey)
})

type EscalationSchemaType = typeof escalation

const currentAgent = Effect.map(CurrentRun, (run) => run?.path.at(-1) ?? "")

/**
 * The built-in tool "escalate": the agent gives up and hands the problem back to its caller. For an agent that is a fixer
 * or a tool of another agent, that is the other agent's model. Inactive unless listed in an agent's `tools`.
 *
 * @category constructors
 * @since 0.2.0
 */
export const escalate: Tool<"escalate", EscalationSchemaType, typeof Schema.Never, Escalated | Escalation, never> =
  make(
    "escalate",
    {
      description: "Hand the problem to whoever asked you, when you cannot solve it yourself.",
      effects: "read",
      parameters: escalation,
      success: Schema.Never,
      execute: ({ reason, severity }) =>
        Effect.flatMap(currentAgent, (agent) => new Escalated({ agent, reason, severity: severity ?? "medium" }))
    }
  ).pipe(onError(escalateArguments("InvalidArgs"))) as never

const exception = Schema.Struct({
  reason: Schema.String.annotate({ description: "The reason why no further action is possible or useful" })
})

type ExceptionSchemaType = typeof exception

/**
 * The built-in tool "throwException": the agent ends the whole run. Inactive unless listed in an agent's `tools`.
 *
 * @category constructors
 * @since 0.2.0
 */
export const throwException: Tool<
  "throwException",
  ExceptionSchemaType,
  typeof Schema.Never,
  AgentException | Escalation,
  never
> = make("throwException", {
  description: "End the whole run, if any continuation would be wrong.",
  effects: "read",
  parameters: exception,
  success: Schema.Never,
  execute: ({ reason }) => Effect.flatMap(currentAgent, (agent) => new AgentException({ agent, reason }))
}).pipe(onError(escalateArguments("InvalidArgs"))) as never
