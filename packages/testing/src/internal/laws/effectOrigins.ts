/** Side effects of a run, with their origins. */
import type * as Simulation from "../simulation/simulation.ts"
import { textOf } from "../text/text.ts"

type SideEffect = Simulation.Observation["sideEffects"][number]

/** True for a requested effect, which is no request of `compensate`. */
const isAsked = ({ read, compensates }: SideEffect): boolean => read !== true && compensates === undefined

/** Tools' requested effects, answered as duplicates or not. */
export const asked = (run: Simulation.Observation): ReadonlyArray<SideEffect> => run.sideEffects.filter(isAsked)

/** Tools' real effects. */
export const done = (run: Simulation.Observation): ReadonlyArray<SideEffect> =>
  run.sideEffects.filter((effect) => isAsked(effect) && !effect.duplicate)

/** Index of the execution that did it itself; `undefined` if it was outside of all. */
const placeOf = ({ executions }: SideEffect): number | undefined => executions?.at(-1)

/** The execution that did it itself; `undefined` if it was outside of all. */
export const executionOf = (
  run: Simulation.Observation,
  effect: SideEffect
): Simulation.Observation["executions"][number] | undefined => run.executions[placeOf(effect) ?? -1]

/** A call's own effects. */
export const doneBy = (
  run: Simulation.Observation,
  call: { readonly tool: string; readonly callId: string | undefined }
): ReadonlyArray<SideEffect> =>
  done(run).filter((effect) => {
    const execution = executionOf(run, effect)
    return execution?.tool === call.tool && execution.callId === call.callId
  })

/** The agent of an effect, and its run; `undefined` if unknown. */
export const agentRunOf = (
  run: Simulation.Observation,
  effect: SideEffect
): { readonly agent: string; readonly id: string } | undefined => {
  const execution = executionOf(run, effect)
  if (execution === undefined) return undefined
  const started = run.events.slice(0, execution.after).findLast((event) =>
    event._tag === "ToolAttempt" && event.tool === execution.tool && event.callId === execution.callId
  )
  return started === undefined ? undefined : { agent: started.path.join(" > "), id: started.agentRunId }
}

/** The calls of a run as the places of their executions: one for each attempt. */
const callsOf = ({ executions }: Simulation.Observation): ReadonlyArray<ReadonlyArray<number>> => {
  const calls: Array<Array<number>> = []
  const latest = new Map<string, Array<number>>()
  for (const [index, { attempt, callId, tool }] of executions.entries()) {
    const id = `${tool} ${callId}`
    const before = attempt === 1 ? undefined : latest.get(id)
    if (before !== undefined) before.push(index)
    else {
      const attempts = [index]
      latest.set(id, attempts)
      calls.push(attempts)
    }
  }
  return calls
}

/** Allowed number of a tool's effects: for each call, as many different ones as one of its attempts has requested. */
export const asManyAsAsked = (run: Simulation.Observation, tool: string): number => {
  const effects = Map.groupBy(asked(run).filter((effect) => effect.tool === tool), placeOf)
  const askedIn = (execution: number): number =>
    new Set(effects.get(execution)?.map(({ details }) => textOf(details))).size
  return callsOf(run).reduce(
    (sum, attempts) => sum + Math.max(run.executions[attempts[0]!]!.tool === tool ? 1 : 0, ...attempts.map(askedIn)),
    0
  )
}
