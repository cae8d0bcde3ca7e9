/** Record of a call: its identity, its outer calls and its states. One record is shared by all attempts, and by every `ToolCall` of the call. */
import type * as Prompt from "effect/ai/Prompt"
import type { DecisionRefused, SnapshotRefused } from "../../approval/outcome.ts"
import type { CallBeforePause, PendingCall } from "../../approval/snapshot.ts"
import type { WaitsInAgent } from "../../run/callResult.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"
import { type Admission, type Decided, newAdmission, noAdmission, setStop, setStopWithin } from "./admission.ts"
import type { Attempts } from "./attempts.ts"
import { type Children, noChildren } from "./children.ts"
import { type Claiming, noClaim } from "./claiming.ts"
import { type Marks, noMarks } from "./marks.ts"
import { type Outcome, OutcomeFields } from "./outcome.ts"
import { noRecovery, type Recovering } from "./recovering.ts"
import { noReplay, type Replay } from "./replay.ts"
import type { FailedAttempt } from "../../../ToolError.ts"
import type { Any as Policy, EarlierCall } from "../../../Policy.ts"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { signal, signalOf } from "../../foundation/effect/signal.ts"

/** View of the policies of an agent on the calls of its run. */
export interface CallLog {
  /** Grows with each call that is let on. */
  readonly version: number
  /** The calls of the run besides this one. */
  readonly before: (record: CallRecord) => ReadonlyArray<EarlierCall>
  /** Adds an admitted call, until its execution is in the record of the run. */
  readonly admit: (record: CallRecord, args: unknown) => void
  /** Removes the admitted calls within a call that has ended. */
  readonly end: (root: CallRecord) => void
}

/** An agent's rules for its calls before they run. */
export interface Gate {
  readonly policies: ReadonlyArray<Policy>
  /** Returns the first policy for a call whose arguments may hold the words of untrusted tools. */
  readonly quarantine: () => Policy
  readonly runId: string
  readonly path: ReadonlyArray<string>
  /** Untrusted tools that the run has read. */
  readonly taintedBy: ReadonlyArray<string>
  /** True if a waiting call can be stored: the run may wait, and there is a key for its snapshot. */
  readonly canKeep: boolean
  /** The conversation so far, the answer with the call included. */
  readonly messages: () => ReadonlyArray<Prompt.Message>
  /** The calls of the run that were let on. */
  readonly log: CallLog
}

/** Why a call does not reach the executor, whatever recovery does. */
export type Stop =
  & (
    | { readonly _tag: "Denied"; readonly policy: string; readonly reason: string }
    | {
      readonly _tag: "Waiting"
      readonly arguments: Record<string, unknown>
      readonly reasons: ReadonlyArray<string>
      readonly fixedBy: string | undefined
      /** Its compensation in the terms of `PendingCall`. */
      readonly compensation?: PendingCall["compensation"] | undefined
      /** Set if the page executes it. */
      readonly client?: ToolInfo["client"]
      /** Started writes of the outer call. */
      readonly startedCalls: ReadonlyArray<CallBeforePause>
    }
    | WaitsInAgent
    /** The agent that is the tool does not resume. */
    | { readonly _tag: "Refused"; readonly error: SnapshotRefused | DecisionRefused }
    /** It was interrupted, and may not run again: it is no write, so it has no known error. */
    | { readonly _tag: "CutOff" }
  )
  /** The call within this one that may not run, if it is not this one itself. */
  & { readonly of?: CallRecord | undefined }

/** A state is written by the functions of its own file. A write of one that most calls never write replaces it. */
export interface CallRecord {
  readonly callId: string
  /** The call that this one is made in, by a tool. */
  readonly parent: CallRecord | undefined
  /** The call of another agent that the run of this one is made for: that agent has this one as a tool, or to recover one. */
  readonly around: CallRecord | undefined
  /** Identifies a call made by a tool among all calls. */
  readonly identity: string | undefined
  /** The agent's rules; absent for calls by hand. */
  readonly gate: Gate | undefined
  /** Whose code has made it: a tool's, or an agent's. */
  readonly level: "tool" | "agent"
  /** The tool that the call is of, if the run can wait for it; another tool that is run for the call cannot. */
  readonly waitsFor: ToolInfo | undefined
  readonly attempts: Attempts
  readonly outcome: Outcome
  readonly recovering: Recovering
  readonly admission: Admission<Stop>
  readonly claiming: Claiming
  readonly replay: Replay
  readonly children: Children<CallRecord>
  readonly marks: Marks
}

/** Origin of a call. */
export interface Made
  extends Decided, Partial<Pick<CallRecord, "parent" | "around" | "identity" | "gate" | "level" | "waitsFor">>
{
  /** The tool, if it is known before the first attempt. */
  readonly tool?: ToolInfo | undefined
}

/** Fields that most calls do not have: they are on the prototype of all records, until a record gets its own. */
const absent = { parent: undefined, around: undefined, identity: undefined } satisfies Partial<CallRecord>

/** A record with its attempts and its outcome, which each call writes: one object for all three. */
class Layout extends OutcomeFields implements Omit<CallRecord, keyof typeof absent> {
  declare readonly tool: Attempts["tool"]
  readonly callId: string
  readonly gate: CallRecord["gate"]
  readonly level: CallRecord["level"]
  readonly waitsFor: CallRecord["waitsFor"]
  readonly recovering = noRecovery
  readonly admission: CallRecord["admission"] = noAdmission
  readonly claiming = noClaim
  readonly replay = noReplay
  readonly children: CallRecord["children"] = noChildren
  readonly marks = noMarks

  constructor(callId: string, made: Made) {
    super()
    this.tool = made.tool
    this.callId = callId
    this.gate = made.gate
    this.level = made.level ?? "tool"
    this.waitsFor = made.waitsFor
  }

  static {
    Object.assign(this.prototype, absent)
  }
}

/** Returns the record of a new call with its origin. */
export const newRecord = (callId: string, made: Made = {}): CallRecord => {
  const record = new Layout(callId, made) as unknown as { -readonly [K in keyof CallRecord]: CallRecord[K] }
  const { approvals, approved, around, continuation, identity, parent } = made
  if (parent !== undefined) record.parent = parent
  if (around !== undefined) record.around = around
  if (identity !== undefined) record.identity = identity
  if (approvals !== undefined || approved !== undefined || continuation !== undefined) {
    record.admission = newAdmission(made)
  }
  return record
}

/** The call of an agent, or by hand, that a call is made in, at whatever depth; itself, if there is none. */
export const rootOf = (record: CallRecord): CallRecord => record.parent === undefined ? record : rootOf(record.parent)

/** The call that a call is made in: by a tool, or by an agent that runs for it. */
export const outerOf = ({ around, parent }: CallRecord): CallRecord | undefined => parent ?? around

/** Does something to each call that a call is made in by a tool, or also by an agent, and that a write is met in again. */
export const forEachAround = (
  record: CallRecord,
  change: (around: CallRecord) => void,
  next: (record: CallRecord) => CallRecord | undefined = ({ parent }) => parent
): void => {
  for (let call: CallRecord | undefined = record; call !== undefined; call = next(call)) {
    if (call !== record) change(call)
    if (call.children.metIn === undefined) continue
    for (const other of call.children.metIn) {
      change(other)
      forEachAround(other, change, next)
    }
  }
}

/** Identifies a call among all others within the call of an agent. */
export const identityOf = ({ callId, identity }: CallRecord): string => identity ?? callId

/** The name of a call's tool; no name before any attempt. */
export const toolName = ({ attempts: { tool } }: CallRecord): string => tool?.name ?? ""

/** Fields of a call in events. */
export const subjectOf = (record: CallRecord) => ({
  callId: record.callId,
  tool: toolName(record),
  ...(record.parent === undefined ? undefined : { parentCallId: record.parent.callId })
})

/** Fields of a call in its errors. */
export interface ErrorFields {
  readonly tool: string
  readonly callId: string
  readonly attempt: number
  readonly causes: ReadonlyArray<FailedAttempt>
}

/** Returns the fields of a call in its errors, in its present state. */
export const errorFields = (record: CallRecord): ErrorFields => ({
  tool: toolName(record),
  callId: record.callId,
  attempt: record.attempts.countBefore + record.attempts.count,
  causes: record.recovering.causes
})

/** The signal of a stopped call. The call's record holds the stop, so that swallowing the signal does not help. */
export class CallStopped {
  readonly _tag = "CallStopped"
}

/** True if a reason is the stop of a call. */
export const isStop = (reason: Cause.Reason<unknown>): boolean => signalOf(reason) instanceof CallStopped

/** True if a call, or its outer call, may not run. */
export const isStopped = ({ gate, parent, admission: { stop } }: CallRecord): boolean =>
  stop !== undefined || (parent !== undefined && gate !== undefined && isStopped(parent))

/**
 * True if an attempt waits in the agent that is its tool: it resumes with the agent. Of several waiting ones it is the
 * first.
 */
export const waitsInAgent = ({ admission: { stop } }: CallRecord, attempt: number): boolean =>
  stop?._tag === "Nested" && stop.attempt === attempt

/** Stops a call that has been stopped, or that is made in one that was. */
export const repeatStop: Effect.Effect<never> = signal(new CallStopped())

/** Stops a call, and the calls of an agent that it is made in. The effect has stopped it when it is made. */
export const stopNow = ({ record }: { readonly record: CallRecord }, stop: Stop): Effect.Effect<never> => {
  setStop(record, stop)
  if (record.gate !== undefined) {
    const within = { ...stop, of: record }
    forEachAround(record, (around) => setStopWithin(around, within))
  }
  return repeatStop
}

/** Stops a call when it is run. */
export const stopped = (call: { readonly record: CallRecord }, stop: Stop): Effect.Effect<never> =>
  Effect.suspend(() => stopNow(call, stop))
