/** Deeds: the side effects of a run, and what did them. */
import type * as Simulation from "../simulation/simulation.ts"
import { textOf } from "../text/text.ts"

type SideEffect = Simulation.Observation["sideEffects"][number]

/** Whether it was asked of the world to do something, which is none of what `compensate` asks. */
const isAsked = ({ read, undoes }: SideEffect): boolean => read !== true && undoes === undefined

/** What tools asked of the world, answered as known already or not. */
export const asked = (run: Simulation.Observation): ReadonlyArray<SideEffect> => run.sideEffects.filter(isAsked)

/** What tools did to the world. */
export const done = (run: Simulation.Observation): ReadonlyArray<SideEffect> =>
  run.sideEffects.filter((effect) => isAsked(effect) && !effect.duplicate)

/** The place of the execution that did it itself; nothing where it was not done within one. */
const placeOf = ({ executions }: SideEffect): number | undefined => executions?.at(-1)

/** The execution that did it itself; nothing where it was not done within one. */
export const executionOf = (
  run: Simulation.Observation,
  effect: SideEffect
): Simulation.Observation["executions"][number] | undefined => run.executions[placeOf(effect) ?? -1]

/** What a call did to the world itself. */
export const doneBy = (
  run: Simulation.Observation,
  call: { readonly tool: string; readonly callId: string | undefined }
): ReadonlyArray<SideEffect> =>
  done(run).filter((effect) => {
    const execution = executionOf(run, effect)
    return execution?.tool === call.tool && execution.callId === call.callId
  })

/** The agent that did something, and in which of its runs; nothing where it is not known. */
export const agentRunOf = (
  run: Simulation.Observation,
  effect: SideEffect
): { readonly agent: string; readonly id: string } | undefined => {
  const execution = executionOf(run, effect)
  if (execution === undefined) return undefined
  const begun = run.events.slice(0, execution.after).findLast((event) =>
    event._tag === "ToolAttempt" && event.tool === execution.tool && event.callId === execution.callId
  )
  return begun === undefined ? undefined : { agent: begun.path.join(" > "), id: begun.agentRunId }
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

/** How often a tool may have done something: for each call, as many different things as one of its attempts has asked for. */
export const asManyAsAsked = (run: Simulation.Observation, tool: string): number => {
  const effects = Map.groupBy(asked(run).filter((effect) => effect.tool === tool), placeOf)
  const askedIn = (execution: number): number =>
    new Set(effects.get(execution)?.map(({ details }) => textOf(details))).size
  return callsOf(run).reduce(
    (sum, attempts) => sum + Math.max(run.executions[attempts[0]!]!.tool === tool ? 1 : 0, ...attempts.map(askedIn)),
    0
  )
}
