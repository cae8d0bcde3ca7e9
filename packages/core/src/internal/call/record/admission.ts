/** Admission of a call: decisions of people and policies about it, and its stop. A call that runs at once has none. */
import type * as Effect from "effect/Effect"
import { canonicalJson } from "../../foundation/json/canonicalJson.ts"
import type { Audited } from "../../run/callResult.ts"
import type { ClientFailure } from "../clientCall.ts"
import type { Decision } from "../../approval/decision.ts"

/** A person's decision about a call made by a tool. */
export interface Approval {
  readonly identity: string
  /** The id under which the person was asked, of a call that has not been made since. */
  readonly callId?: string
  readonly arguments: Record<string, unknown>
  readonly fixedBy?: string | undefined
  /** The result that the person gives in the tool's place. */
  readonly response?: { readonly result: unknown } | undefined
  /** The failure that the page gave for a call of a client tool. */
  readonly failed?: ClientFailure | undefined
}

/** Continuation of an agent that is a tool. */
export interface Continuation {
  readonly snapshot: unknown
  readonly decisions: ReadonlyArray<Decision>
  /** True if the agent has resumed. */
  readonly hasResumed: boolean
}

export interface Admission<Stop> {
  /** Decisions about inner calls, at any depth. */
  readonly approvals: ReadonlyArray<Approval> | undefined
  /** The arguments that a person has approved, in canonical JSON. */
  readonly approved: string | undefined
  /** The arguments that a person has decided about, in place of those that it is made with. */
  readonly arguments: Record<string, unknown> | undefined
  /** The result that a person gave in the tool's place. */
  readonly response: Approval["response"]
  /** The failure that the page gave for the call. */
  readonly clientFailure: ClientFailure | undefined
  /** Arguments that may run, in canonical JSON. */
  readonly admitted: ReadonlyArray<string>
  /** The policy that answered in the tool's place. */
  readonly substitutedBy: string | undefined
  /** Set when the call may not run: every further attempt stops too. */
  readonly stop: Stop | undefined
  /** Set while the call continues a started agent that is its tool. */
  readonly continuation: Continuation | undefined
  /** Audit facts of inner calls, by call and decision. */
  readonly audited: ReadonlyMap<string, Audited> | undefined
  /** Withdraw the questions of agents within this call. */
  readonly questions: ReadonlyArray<Effect.Effect<void>> | undefined
}

interface Has<Stop> {
  admission: Admission<Stop>
}

/** The state of a call without decisions. */
export const noAdmission: Admission<never> = {
  approvals: undefined,
  approved: undefined,
  arguments: undefined,
  response: undefined,
  clientFailure: undefined,
  admitted: [],
  substitutedBy: undefined,
  stop: undefined,
  continuation: undefined,
  audited: undefined,
  questions: undefined
}

/** The decisions that a call is made with. */
export interface Decided {
  readonly approvals?: ReadonlyArray<Approval> | undefined
  readonly approved?: string | undefined
  readonly continuation?: Continuation | undefined
}

/** The state of a call with these decisions. */
export const newAdmission = ({ approvals, approved, continuation }: Decided): Admission<never> => ({
  ...noAdmission,
  approvals,
  approved,
  continuation
})

/** Notes that a person has decided about the call. */
export const noteApproval = (record: Has<unknown>, { arguments: args, failed, response }: Approval): void => {
  record.admission = {
    ...record.admission,
    arguments: args,
    approved: canonicalJson(args),
    response,
    clientFailure: failed
  }
}

/** Notes that the page has failed to execute the call. */
export const noteClientFailure = (record: Has<unknown>, failure: ClientFailure): void => {
  record.admission = { ...record.admission, clientFailure: failure }
}

/** Notes that arguments may run. */
export const noteAdmitted = (record: Has<unknown>, args: string): void => {
  record.admission = { ...record.admission, admitted: [...record.admission.admitted, args] }
}

/** Notes that a policy answers in the tool's place. */
export const noteSubstitute = (record: Has<unknown>, policy: string): void => {
  record.admission = { ...record.admission, substitutedBy: policy }
}

/** Stops a call. */
export const setStop = <Stop>(record: Has<Stop>, stop: Stop): void => {
  record.admission = { ...record.admission, stop }
}

/** Stops a call because a call within it is stopped; it keeps the stop that it has. */
export const setStopWithin = <Stop>(record: Has<Stop>, stop: Stop): void => {
  if (record.admission.stop === undefined) record.admission = { ...record.admission, stop }
}

/** Takes a stop back. */
export const clearStop = (record: Has<unknown>): void => {
  if (record.admission.stop !== undefined) record.admission = { ...record.admission, stop: undefined }
}

/** Notes that the agent has been resumed. */
export const noteContinued = (continuation: { hasResumed: boolean }): void => {
  continuation.hasResumed = true
}

/** Notes that the call does not continue an agent any more: a further attempt starts the agent. */
export const endContinuation = (record: Has<unknown>): void => {
  if (record.admission.continuation !== undefined) record.admission = { ...record.admission, continuation: undefined }
}

/** Adds audit facts of an inner call. */
export const addAudited = (record: Has<unknown>, key: string, audited: Audited): void => {
  record.admission = { ...record.admission, audited: new Map(record.admission.audited).set(key, audited) }
}

/** Returns the audit facts, once. */
export const takeAudited = (record: Has<unknown>): ReadonlyMap<string, Audited> | undefined => {
  const { audited } = record.admission
  if (audited !== undefined) record.admission = { ...record.admission, audited: undefined }
  return audited
}

/** Notes the withdrawal of the questions of an agent within this call. */
export const addQuestion = (record: Has<unknown>, withdraw: Effect.Effect<void>): void => {
  record.admission = { ...record.admission, questions: [...record.admission.questions ?? [], withdraw] }
}
