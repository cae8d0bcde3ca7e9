/** Calls of a toolkit: answers the calls that `effect/ai` makes of tools with recovery. There is no run around them. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as AiError from "effect/ai/AiError"
import { type OnTainted, policy as quarantine } from "../../Quarantine.ts"
import { Escalation, Pending } from "../../ToolError.ts"
import { type Call, forAgent } from "../call/call.ts"
import { failed, noLog } from "./roundContext.ts"
import { noteEnded } from "../call/record/outcome.ts"
import type { Gate, Stop } from "../call/record/record.ts"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import { randomId } from "../foundation/digest.ts"
import { toJson } from "../foundation/json/jsonValue.ts"
import { denied } from "../projection/failures.ts"
import { deliver, presentationOf } from "../result/delivery.ts"
import { failureOf, failureOfInterrupted } from "../result/failureOf.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import { addTaint } from "../run/state/runState.ts"
import type { AgentTool } from "../tool/agentTool.ts"
import { runAndCheck } from "../tool/checkResult.ts"
import type { ToolkitGate } from "../tool/from/toolkitGate.ts"
import { callSucceeded, endedOtherwise, taskStarted } from "./runCall.ts"

/** Executor of a toolkit's calls. */
export interface ToolkitCalls {
  readonly tools: ReadonlyMap<string, AgentTool>
  readonly onTainted: OnTainted
  readonly gate: ToolkitGate
  /** Untrusted tools whose descriptions the model reads. */
  readonly foreign: ReadonlyArray<string>
}

type Handle = (name: string, params: unknown, callId?: string) => Effect.Effect<unknown, unknown, unknown>

/** Makes the handler of a toolkit's calls. */
export const answerCalls = ({ foreign, gate, onTainted, tools }: ToolkitCalls): Handle => {
  /** Untrusted tools that this toolkit has answered for, or whose descriptions the model reads. */
  const read: Array<string> = [...foreign]
  // `effect/ai` has evaluated the approval of a call by the definition's `needsApproval`: not for arguments of a fixer.
  const gateOf = (runId: string): Gate => ({
    policies: [],
    quarantine: () => quarantine(onTainted === "deny" ? "approve" : onTainted),
    runId,
    path: [],
    taintedBy: read,
    canKeep: true,
    messages: () => [],
    log: noLog
  })
  return (name, params, callId) => {
    const id = callId ?? name
    const tool = tools.get(name)
    if (tool === undefined) {
      const reason = new AiError.ToolNotFoundError({ toolName: name, availableTools: [...tools.keys()] })
      return Effect.fail(AiError.make({ module: "AiToolkit", method: `${name}.handle`, reason }))
    }
    const raw = { id, name, params }
    if (gate.denies(id)) return Effect.succeed(Stream.fromEffect(delivered(tool, read, failed(raw, denied(id)))))
    // A caller without an id, such as a server, has asked no person: a call that needs an approval is denied then.
    const approved = callId === undefined ? undefined : canonicalJson(Option.getOrNull(toJson(params)))
    const answer = Effect.flatMap(randomId, (scope) => {
      const call = forAgent({ id, arguments: params, level: tool.level, gate: gateOf(id), approved })
      // Calls with the same id cannot be separated without a run: no call here repeats another one.
      return answered(tool, raw, { ...call, scope }, read)
    })
    return Effect.succeed(Stream.fromEffect(answer))
  }
}

/**
 * Runs a call, and returns its result in the form of `effect/ai`. Fails with the errors that the tool's recovery
 * leaves.
 */
const answered = (
  tool: AgentTool,
  raw: RequestedCall,
  call: Call,
  read: Array<string>
): Effect.Effect<unknown, unknown, unknown> => {
  const { record } = call
  const deliveredOf = (result: CallResult, value?: unknown) => delivered(tool, read, result, value, call)
  // An agent that is the tool may wait without a way to resume it.
  const stopped = ({ _tag }: Stop) =>
    deliveredOf(failed(raw, _tag === "CutOff" ? failureOfInterrupted(record, raw.id) : denied(raw.id)))
  const ran = Effect.onExit(runAndCheck(tool, call), (exit) =>
    Effect.sync(() => {
      noteEnded(record, exit)
    }))
  return Effect.matchCauseEffect(ran, {
    onSuccess: (checked) =>
      record.admission.stop === undefined
        ? deliveredOf(callSucceeded(raw, call, checked), checked.value)
        : stopped(record.admission.stop),
    onFailure: (cause) => {
      if (record.admission.stop !== undefined && !endedOtherwise(cause)) return stopped(record.admission.stop)
      const error = cause.reasons.find(Cause.isFailReason)?.error
      return error instanceof Pending
        ? deliveredOf(taskStarted(tool, raw, call, error))
        : error instanceof Escalation
        ? deliveredOf(failed(raw, failureOf(record, error, raw.id)))
        : Effect.failCause(cause)
    }
  })
}

/** Delivers a result like a run: guarded, redacted, marked. `value` is the tool's answer before its JSON form. */
const delivered = (
  { tool }: AgentTool,
  read: Array<string>,
  result: CallResult,
  value: unknown = result.encoded,
  call?: Call
): Effect.Effect<unknown> =>
  Effect.map(
    Effect.contextWith((context) =>
      deliver(presentationOf(context), { id: result.call.id }, tool.info, result, call?.record.marks.read)
    ),
    ({ encoded, isFailure, modelOutput, taints }) => {
      addTaint(read, taints ?? [])
      return isFailure
        ? { result: encoded, encodedResult: encoded, isFailure, failureOrigin: "handler", preliminary: false }
        : { result: value, encodedResult: encoded, modelOutput, isFailure, preliminary: false }
    }
  )
