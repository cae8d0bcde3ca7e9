/**
 * A tool within an agent: its own recovery, then the agent's for this tool, then the agent's for all tools. See
 * docs/the-way-of-a-call.md.
 */
import type * as Effect from "effect/Effect"
import { escalateError } from "../recovery/escalate.ts"
import type { AnyPolicy } from "../recovery/policy.ts"
import { catchTags } from "../foundation/errorTags.ts"
import { type Completable, resultCheck } from "./complete.ts"
import { guarded, guardedAgain } from "./levels.ts"
import type * as Tool from "./tool.ts"
import type { Call } from "../call/call.ts"

/** A tool as an agent runs it. */
export interface AgentTool extends Completable {
  readonly tool: Tool.Any
  /** Whose recovery is the outermost. */
  readonly level: Call["level"]
  /** The tool whose tasks it tells the state of. Offered once that one has a task that goes on. */
  readonly statusOf: string | undefined
}

type Recover = (call: Effect.Effect<unknown, unknown, unknown>) => Effect.Effect<unknown, unknown, unknown>

const recoveredByAgent = (tool: Tool.Any, forThis: Recover | undefined, forAll: Recover | undefined) => {
  const own = guarded(tool)
  if (forThis === undefined) return forAll === undefined ? own : forAll(own)
  return forAll === undefined ? forThis(own) : forAll(guardedAgain(forThis(own)))
}

/** Composes the steps 3 and 4 of a tool. */
export const agentTool = (
  tool: Tool.Any,
  forThis: Recover | undefined,
  forAll: (Recover & AnyPolicy) | undefined
): AgentTool => {
  const check = resultCheck(tool)
  const level = forThis === undefined && forAll === undefined ? "tool" : "agent"
  return {
    tool,
    recovered: level === "tool" ? tool.recovered : recoveredByAgent(tool, forThis, forAll),
    level,
    check: forAll?.table.InvalidResult === "escalate"
      ? (call, value) => catchTags(check(call, value), ["InvalidResult"], escalateError)
      : check,
    statusOf: undefined
  }
}

/** A tool as an agent runs it, and the one that tells the state of its tasks, where it declares one. */
export const agentTools = (...[tool, forThis, forAll]: Parameters<typeof agentTool>): ReadonlyArray<AgentTool> =>
  tool.status === undefined
    ? [agentTool(tool, forThis, forAll)]
    : [agentTool(tool, forThis, forAll), { ...agentTool(tool.status, forThis, forAll), statusOf: tool.name }]
