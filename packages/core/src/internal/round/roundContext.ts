/** Round context: state that the calls of one answer share, with their repeated failures, their repeated results, and the calls that were let on. */
import * as Context from "effect/Context"
import { valueOf } from "../call/arguments/toolArguments.ts"
import { ToolCall } from "../call/call.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { type CallLog, type CallRecord, type Gate, rootOf, toolName } from "../call/record/record.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import type { Run } from "../run/run.ts"
import type { Session } from "../run/session.ts"
import type { AgentTool } from "../tool/agentTool.ts"
import type { Presentation } from "../result/delivery.ts"
import * as Failures from "../projection/failures.ts"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import type { Any as Policy, EarlierCall } from "../../Policy.ts"
import type { ExecutedCall } from "../run/runEntries.ts"
import { admitCall, forgetAdmitted } from "../run/state/runState.ts"

/** A call of a round that has started. */
export interface StartedCall {
  /** Absent for a call that no tool is run for. */
  readonly record: CallRecord | undefined
  /** True if its start was emitted. */
  readonly isEmitted: boolean
}

/** Shared state of the calls of one answer. */
export interface RoundContext {
  readonly run: Run
  /** The tools of the turn. */
  readonly tools: ReadonlyMap<string, AgentTool>
  /** Names of the tools that the model was offered in the request that it answered. */
  readonly offered: ReadonlyArray<string>
  readonly session: Session
  readonly shown: Presentation
  readonly gate: Gate
  /** The call that the run is made for, if its agent is a tool, or recovers one. */
  readonly within: CallRecord | undefined
  /** The calls that have started, by their ids. */
  readonly started: Map<string, StartedCall>
  /** Time limit of an approval, in milliseconds. */
  readonly approvalTimeToLive: number
  readonly concurrency: number | "unbounded"
  /** Number of equal failures of the same call after which the model is instructed to stop it. */
  readonly repeatedFailures: number
  /** Number of equal results of the same call while no other call gives a new one. */
  readonly repeatedCalls: number
  /** Returns the id of an equal call that runs in another round of the run; absent if rounds do not overlap. */
  readonly equalRunning?: ((raw: RequestedCall) => string | undefined) | undefined
}

/** The rules of an agent for its calls. */
interface Rules
  extends
    Pick<RoundContext, "approvalTimeToLive" | "concurrency" | "repeatedCalls" | "repeatedFailures">,
    Pick<Gate, "policies">
{
  readonly quarantine: (canPause: boolean) => Policy
}

/** Returns the context of the calls of an answer. `offered`: names of the tools that the model was offered. */
export const newRoundContext = (
  { canPause, program, run, session, shown, within }: Pick<RoundContext, "run" | "session" | "shown" | "within"> & {
    readonly canPause: boolean
    readonly program: Rules
  },
  tools: RoundContext["tools"],
  offered: RoundContext["offered"]
): RoundContext => {
  const { approvalTimeToLive, concurrency, policies, quarantine, repeatedCalls, repeatedFailures } = program
  return {
    run,
    session,
    shown,
    tools,
    offered,
    gate: {
      policies,
      quarantine: () => quarantine(canPause),
      runId: run.id,
      path: run.path,
      canKeep: canPause,
      taintedBy: run.reading.taintedBy,
      messages: () => session.transcript.snapshot().content,
      log: callLog(run)
    },
    within,
    started: new Map(),
    approvalTimeToLive,
    concurrency,
    repeatedCalls,
    repeatedFailures
  }
}

/** The call that a run is made in, if there is one. */
export const callAround = (context: Context.Context<never>): RoundContext["within"] =>
  Context.getOrUndefined(context, ToolCall)?.record

/** A failure as a result. */
export const failed = (
  call: RequestedCall,
  failure: ToolFailure,
  repaired: CallResult["repaired"] = undefined
): CallResult => ({ call, isFailure: true, encoded: failure, modelOutput: undefined, repaired })

/** Names calls of the same tool with the same arguments. */
export const callKey = (call: RequestedCall): string => `${call.name}\n${canonicalJson(valueOf(call.params))}`

/** Number of failures of a call so far, by code. */
export const countsOf = ({ session }: RoundContext, call: RequestedCall): Readonly<Record<string, number>> =>
  Object.fromEntries(session.failures.get(callKey(call)) ?? [])

/** Restores the counts of an earlier execution of the run. */
export const setCounts = (
  { session }: RoundContext,
  call: RequestedCall,
  counts: Readonly<Record<string, number>>
): void => {
  const key = callKey(call)
  const codes = session.failures.get(key) ?? new Map<string, number>()
  for (const [code, times] of Object.entries(counts)) codes.set(code, Math.max(codes.get(code) ?? 0, times))
  session.failures.set(key, codes)
}

const countFailure = ({ session }: RoundContext, call: RequestedCall, code: string): number => {
  const key = callKey(call)
  const codes = session.failures.get(key) ?? new Map<string, number>()
  const times = (codes.get(code) ?? 0) + 1
  codes.set(code, times)
  session.failures.set(key, codes)
  return times
}

/** A failure of a call that the model made: counted, and reworded above the limit. */
export const counted = (
  calls: RoundContext,
  call: RequestedCall,
  failure: ToolFailure
): CallResult => {
  const times = countFailure(calls, call, failure.code)
  return failed(
    call,
    // An outcome that is unknown is reported each time: the next call of the same kind is not made.
    times < calls.repeatedFailures || failure.code === "outcome_unknown"
      ? failure
      : Failures.repeatedCall(times, failure.code, calls.run.id, calls.shown.user)
  )
}

/** The failure of a call of a tool that there is not. */
export const unknown = (calls: RoundContext, call: RequestedCall): CallResult => {
  const failure = Failures.toolNotFound(call.name, calls.offered, calls.run.id, calls.shown.user)
  countFailure(calls, call, failure.code)
  return failed(call, failure)
}

const rootRun = (run: Run): Run => run.parent === undefined ? run : rootRun(run.parent)

const argumentsOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const ofExecuted = (entry: ExecutedCall): EarlierCall => ({
  tool: entry.tool,
  callId: entry.callId,
  get arguments() {
    return argumentsOf(entry.arguments)
  },
  outcome: entry.outcome
})

const keyOf = (agentRunId: string | undefined, callId: string, tool: string): string =>
  `${agentRunId ?? ""}\n${callId}\n${tool}`

class RunCalls implements CallLog {
  private readonly run: Run

  constructor(run: Run) {
    this.run = run
  }

  get version(): number {
    return this.run.counts.admitted.version
  }

  private get agentRunId(): string | undefined {
    return this.run.parent === undefined ? undefined : this.run.agentRunId
  }

  before(record: CallRecord): ReadonlyArray<EarlierCall> {
    const calls = new Map<string, EarlierCall>()
    for (const entry of rootRun(this.run).counts.executed) {
      calls.set(keyOf(entry.agentRunId, entry.callId, entry.tool), ofExecuted(entry))
    }
    for (const [made, { agentRunId, arguments: args }] of this.run.counts.admitted.calls ?? []) {
      const other = made as CallRecord
      const key = keyOf(agentRunId, other.callId, toolName(other))
      if (!calls.has(key)) {
        calls.set(key, { tool: toolName(other), callId: other.callId, arguments: args, outcome: "running" })
      }
    }
    calls.delete(keyOf(this.agentRunId, record.callId, toolName(record)))
    return [...calls.values()]
  }

  admit(record: CallRecord, args: unknown): void {
    admitCall(this.run, record, this.agentRunId ?? "", args)
  }

  end(root: CallRecord): void {
    forgetAdmitted(this.run, (record) => rootOf(record as CallRecord) === root)
  }
}

/** The log of an agent's run: it shows the calls of the outermost run that the agent's is part of. */
export const callLog = (run: Run): CallLog => new RunCalls(run)

/** The log of calls that no run holds together. */
export const noLog: CallLog = { version: 0, before: () => [], admit: () => {}, end: () => {} }
