/**
 * A tool within an agent: its own recovery, then the agent's for this tool, then the agent's for all tools. See
 * docs/the-way-of-a-call.md.
 */
import type * as Effect from "effect/Effect"
import { escalateError } from "../recovery/escalate.ts"
import type { AnyPolicy } from "../recovery/policy.ts"
import { catchTags } from "../foundation/errorTags.ts"
import { type Completable, insideRecovery, resultCheck } from "./checkResult.ts"
import { guarded, guardedAgain } from "./recoveryLevels.ts"
import type * as Tool from "./tool.ts"
import type { Call } from "../call/call.ts"
import { parametersOf } from "../call/execute/lastParameters.ts"
import { recoveryOf } from "../foundation/options/hookResult.ts"

export type { ToolList } from "../call/tool/toolList.ts"

/** A tool as an agent runs it. */
export interface AgentTool extends Completable {
  readonly tool: Tool.Any
  /** Whose recovery is the outermost. */
  readonly level: Call["level"]
  /** The tool whose tasks it queries. Offered once that one has a pending task. */
  readonly statusOf: string | undefined
  /** True if it finds tools that a request does not offer; absent if not. */
  readonly isFinder?: true | undefined
}

type AnyCall = Effect.Effect<unknown, unknown, unknown>
type Recover = (call: AnyCall) => AnyCall

/** Recovery of one tool: of the call, and of its arguments. */
export type RecoverOne = (call: AnyCall, params: AnyCall) => AnyCall

/** A call with its own recovery, and within its agent's, if there is one. */
const recoveredBy = (tool: Tool.Any, forThis: Recover | undefined, forAll: Recover | undefined): AnyCall => {
  if (forThis === undefined) return forAll === undefined ? tool.recovered : forAll(insideRecovery(tool, guarded(tool)))
  const recovered = forThis(insideRecovery(tool, guarded(tool)))
  return forAll === undefined ? recovered : forAll(insideRecovery(tool, guardedAgain(recovered)))
}

/** Composes the steps 3 and 4 of a tool. */
export const agentTool = (
  tool: Tool.Any,
  forThis: Recover | undefined,
  forAll: (Recover & AnyPolicy) | undefined
): AgentTool => {
  const check = resultCheck(tool)
  return {
    tool,
    recovered: recoveredBy(tool, forThis, forAll),
    level: forThis === undefined && forAll === undefined ? "tool" : "agent",
    check: forAll?.table.InvalidResult === "escalate"
      ? (call, value) => catchTags(check(call, value), ["InvalidResult"], escalateError)
      : check,
    statusOf: undefined
  }
}

const withParams = (recover: RecoverOne, { name, parameters }: Tool.Any): Recover => {
  const params = parametersOf(parameters)
  return (call) => recoveryOf(name, recover)(call, params)
}

/** A tool in the form that an agent runs, and its status tool, if it declares one. */
export const agentTools = (
  tool: Tool.Any,
  recover: RecoverOne | undefined,
  forAll: (Recover & AnyPolicy) | undefined
): ReadonlyArray<AgentTool> => {
  const forThis = recover && withParams(recover, tool)
  const own = agentTool(tool, forThis, forAll)
  return tool.status === undefined
    ? [own]
    : [own, { ...agentTool(tool.status, forThis, forAll), statusOf: tool.name }]
}
