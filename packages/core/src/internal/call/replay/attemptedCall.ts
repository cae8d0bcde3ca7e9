/** An attempt as its entries in a journal name it. */
import { noteChange } from "../../run/state/runState.ts"
import type * as Schema from "effect/Schema"
import type { RecordedStart } from "../../run/recordedStart.ts"
import * as Path from "../../path/path.ts"
import type { Run } from "../../run/run.ts"
import type { Attempt } from "../attemptLog.ts"
import { mayBeRepeated } from "../execute/effects.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"

/** An attempt, its tool, and the codec of its outcome. */
export interface AttemptedCall {
  readonly attempt: Attempt
  readonly info: ToolInfo
  readonly success: Schema.Top
}

/** Returns the path of the call: one for all its attempts, in all executions of the run. */
export const pathOfCall = (run: Run, { attempt: { call }, info }: AttemptedCall): string =>
  Path.ofCall(run.scope, info.name, call.identity ?? call.id)

/** True if only its start records an attempt: it has no key and may not be repeated. */
export const isPlainWrite = (info: ToolInfo): boolean =>
  !mayBeRepeated(info) && !info.passesKey && info.isAgent !== true

/** Returns the starts of this attempt and of later ones that earlier executions have appended. Those of earlier attempts have ended. */
export const startsOf = (run: Run | undefined, attempted: AttemptedCall): ReadonlyArray<RecordedStart> => {
  const starts = run?.log?.startsOf(pathOfCall(run, attempted)) ?? []
  if (starts.length === 0) return starts
  const { call: { record }, number } = attempted.attempt
  return starts.filter(({ attempt, isAtomic }) =>
    !isAtomic && (attempt === "first" ? !record.outcome.executed : attempt >= number)
  )
}

/** Notes that this execution has matched the call of an attempt: it knows the outcome of the starts that are recorded of it. */
export const matchAttempt = (run: Run, attempted: AttemptedCall): void => {
  run.log?.match(pathOfCall(run, attempted))
  noteChange(run)
}
