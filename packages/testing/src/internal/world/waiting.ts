/** Waiting runs: a person's questions and decisions. */
import { Cause, Exit, type Schema } from "effect"
import { Approval } from "@recourse/core"
import type * as ScriptedModel from "../../ScriptedModel.ts"

/** A run that waits. */
export interface Waiting {
  /** Player of the run's model, over its pauses too. */
  readonly model: ScriptedModel.Behaviour
  /** The chat that it waits in. */
  readonly thread: string | undefined
  readonly snapshot: unknown
  readonly pending: ReadonlyArray<Approval.PendingCall>
}

/** The run that has ended so, if it waits. */
export const waitingOf = (
  exit: Exit.Exit<unknown, unknown>,
  model: ScriptedModel.Behaviour,
  thread: string | undefined
): Waiting | undefined => {
  if (!Exit.isFailure(exit)) return undefined
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  return error instanceof Approval.ApprovalRequired
    ? {
      model,
      thread,
      snapshot: JSON.parse(JSON.stringify(error.snapshot)),
      pending: error.snapshot.round?.pending ?? []
    }
    : undefined
}

/** A person's decisions about all waiting calls of a run. */
export const decisionsOf = (
  { pending }: Waiting,
  decision: "approve" | "reject" | "edit",
  edit: ((call: Approval.PendingCall) => { readonly [key: string]: Schema.Json }) | undefined
): ReadonlyArray<Approval.Decision> =>
  pending.map((call) =>
    decision === "approve"
      ? Approval.approve(call)
      : decision === "reject"
      ? Approval.reject(call, "no")
      : Approval.edit(call, edit?.(call) ?? call.arguments)
  )
