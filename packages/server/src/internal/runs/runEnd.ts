/** End of a run in memory: its facts from the exit of its execution. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import * as Approval from "@recourse/core/Approval"
import type { RunInfo } from "@recourse/core/Runs"
import { wentWrong } from "../wire/texts.ts"
import type { Ended } from "./served.ts"

/** Why a resumption did not begin: a snapshot that cannot be used means that the call waits no more. */
export const refusedBy = (exit: Exit.Exit<Ended, unknown>): Approval.DecisionRefused | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  if (error instanceof Approval.DecisionRefused) return error
  return error instanceof Approval.SnapshotRefused ? notWaiting() : undefined
}

/** The refusal of decisions about a run that does not wait. */
export const notWaiting = () => new Approval.DecisionRefused({ reason: "unknown_call" })

export type Finished = Extract<AgentEvent, { readonly _tag: "RunFinished" }>

const jsonOf = (value: unknown): NonNullable<RunInfo["output"]> | undefined => {
  const text = JSON.stringify(value)
  return text === undefined ? undefined : JSON.parse(text)
}

/** Returns the facts of a run behind its last event. */
export const endOf = (info: RunInfo, last: Finished | undefined, exit: Exit.Exit<Ended, unknown>): Partial<RunInfo> => {
  if (last === undefined) {
    const wasInterrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    return { status: wasInterrupted ? "cancelled" : Exit.isSuccess(exit) ? "completed" : "failed" }
  }
  switch (last.outcome) {
    case "success": {
      const output = jsonOf(last.output)
      return { status: "completed", ...(output === undefined ? undefined : { output }) }
    }
    case "failure": {
      const { code = "execution_error", error = "Defect", userMessage = wentWrong } = last
      return { status: "failed", failure: { code, error, userMessage } }
    }
    case "interrupted":
      return { status: "cancelled" }
    case "paused":
      return { status: "waiting", pending: last.pending ?? info.pending }
  }
}
