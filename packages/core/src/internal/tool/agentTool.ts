/**
 * The way of a tool call, in the order of its steps:
 *
 * 1. the tool is known, and was not called in vain too often      `toolCalls.ts`
 * 2. the call, in its span                                         `execute.ts`, `observed.ts`
 * 3. recovery: the tool's own, the agent's for it, the agent's for all; a circuit is a part of it (`recovery/`)
 *    Each attempt below it is
 *    a. arguments decoded                                          `attempt.ts`
 *    b. policies and approval                                      `gate.ts`
 *    c. idempotency: a key that has a result answers with it,
 *       also while the circuit is open                             `idempotency.ts`, `lookup.ts`
 *    d. executed, within the timeout of one attempt                `attempt.ts`
 * 4. the result is checked by the tool's schema                    `Tool.checked`
 * 5. output guard, quarantine, redaction                           `delivery.ts`
 * 6. told to the audit, to whoever listens, and to the transcript  `announce.ts`, `toolCalls.ts`
 *
 * Steps a to c stand below recovery because the arguments of a fixer take them like the model's own. What stops a call
 * there goes around recovery, so that the outcome is the same as if they stood above it.
 */
import type * as Effect from "effect/Effect"
import { escalateError } from "../recovery/escalate.ts"
import type { AnyPolicy } from "../recovery/policy.ts"
import { catchTags } from "../foundation/errorTags.ts"
import { type Completable, resultCheck } from "./complete.ts"
import { guarded } from "./onError.ts"
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
  const agents = forThis === undefined ? own : forThis(own)
  return forAll === undefined ? agents : forAll(agents)
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
