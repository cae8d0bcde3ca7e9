/** Agents as tools of other agents. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import { escalate, type ToolCall } from "../ToolCall.ts"
import { Escalated, type Escalation } from "../ToolError.ts"
import type { Agent } from "./agent.ts"

/**
 * Makes a tool of an agent. What the agent fails with is the tool's `ExecutionError`, except that an `escalate` of the
 * agent is an `Escalation` of the call: the reason goes to the model of the agent that has the tool.
 *
 * **Example** (An agent that another agent can ask)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, ToolCall } from "recourse"
 *
 * const upper = Agent.fromFunction("upper", ({ text }: { readonly text: string }) => Effect.succeed(text.toUpperCase()))
 * const Upper = upper.pipe(
 *   Agent.asTool("upper", {
 *     description: "Writes a text in capitals",
 *     parameters: Schema.Struct({ text: Schema.String }),
 *     success: Schema.String
 *   })
 * )
 *
 * await Effect.runPromise(
 *   Upper.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { text: "abc" } }))
 *   )
 * ) // => "ABC"
 * ```
 */
export const asTool = <
  const Name extends string,
  Parameters extends Schema.Top,
  Success extends Schema.Top,
  const Eff extends Tool.Effects | undefined = undefined
>(name: Name, options: {
  readonly description: string
  readonly parameters: Parameters
  readonly success: Success
  readonly effects?: Eff
}) =>
<E, R>(self: Agent<Parameters["Type"], Success["Type"], E, R>) =>
  Tool.make(name, {
    ...options,
    execute: (params: Parameters["Type"]) =>
      Effect.catchIf(
        self.run(params),
        (error): error is Extract<E, Escalated> & Escalated => error instanceof Escalated,
        ({ reason, severity }) => escalate({ reason, severity })
      ) as Effect.Effect<
        Success["Type"],
        Exclude<E, Escalated> | ([Extract<E, Escalated>] extends [never] ? never : Escalation),
        R | ToolCall
      >
  })
