/** Reasons of a stop: the fault of a run that had to be stopped from outside, in words. */
import type * as Simulation from "../simulation/simulation.ts"

const why = {
  stalled: "it waits forever, without other work",
  late: "it runs for longer than any run may",
  endless: "it runs forever",
  killed: "its process was killed"
} as const satisfies Readonly<Record<NonNullable<Simulation.Observation["stopped"]>, string>>

/** The executions at which a run was when it had to be stopped. */
const atWork = ({ events, executions }: Simulation.Observation): ReadonlyArray<string> => {
  const ended = events.findLastIndex(({ _tag }) => _tag === "ToolAttemptSucceeded" || _tag === "ModelTurnStarted")
  return executions.flatMap(({ after, attempt, callId, ended: how, tool }) =>
    how !== "success" && after > ended ? [`${tool} ${callId} attempt ${attempt}`] : []
  )
}

/** Describes the fault of a stopped run; empty if it ended by itself. */
export const whyStopped = (run: Simulation.Observation): ReadonlyArray<string> => {
  if (run.stopped === undefined) return []
  const within = run.stopped === "stalled" ? atWork(run).at(-1) : undefined
  return [`the run did not end: ${why[run.stopped]}${within === undefined ? "" : `, in ${within}`}`]
}
