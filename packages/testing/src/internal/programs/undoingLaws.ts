/** Laws about what agents undo, whatever they are put together with: each run of each agent that undoes is looked at. */
import { type AgentRun, agentRunsOf, runsAround, undoes } from "./agentRuns.ts"
import { clerk, partner } from "./forms.ts"
import { type Law, ofEachRun, specOf, tellsCallsApart } from "./judging.ts"
import type { Observed } from "./run.ts"
import type { Deed } from "./world.ts"

/** Whether events say in which run what was done. */
const isTold = ({ program }: Observed): boolean =>
  (program.compensates || program.undoesAround) && tellsCallsApart(program)

/** Codes of what is no end: a run that waits in one that cannot, and a snapshot or a decision that was refused. */
const noEnds: ReadonlySet<string | undefined> = new Set(["approval_required"])

/** Whether a run was interrupted when it went on, before it had run anything: it has given back what it was to go on with. */
const isGivenBack = ({ deeds }: Observed, { begunAt, end, isResumed, name }: AgentRun): boolean =>
  isResumed && end?.outcome === "interrupted" &&
  !deeds.some(({ after, agent }) =>
    begunAt < after && after <= end.at && (agent === name || (name !== clerk && name !== partner))
  )

/** Whether the outermost run asks while it runs. */
const asksItself = ({ program: { asks, form } }: Observed, { parent }: AgentRun): boolean =>
  parent === undefined && (asks === "within" ? form === "alone" : asks === "around" && form !== "hand")

/** Whether the outermost run may still go on: nobody else does with one that asks while it runs. */
const mayGoOn = (run: Observed, one: AgentRun): boolean =>
  one.end === undefined || noEnds.has(one.end.code) ||
  (!asksItself(run, one) && (one.end.outcome === "paused" || isGivenBack(run, one)))

/**
 * Whether a run waited last, and a store of resumptions fails that may have said that its snapshot is used: who has used that ends it, and
 * nobody else.
 */
const mayBeUsed = (run: Observed, one: AgentRun): boolean =>
  (one.end?.outcome === "paused" || isGivenBack(run, one)) &&
  run.program.store.some(({ store }) => store === "resumptions")

/** Whether a run, which is within the outermost one or is that, ended so that what was done in it is undone. */
const hasEndedBadly = (run: Observed, one: AgentRun, outermost: AgentRun): boolean => {
  if (mayGoOn(run, outermost)) return false
  return one.end?.outcome !== "success" && !noEnds.has(one.end?.code)
}

/** Whether what a call has done is undone: an execution of it that went well stands for those before. */
const isUndone = (run: Observed, { agent, callId, instance, tool }: Deed): boolean =>
  run.deeds.some((deed) =>
    deed.tool === tool && deed.agent === agent && deed.callId === callId && deed.instance >= instance &&
    run.undone.some((one) => one.tool === tool && one.receipt === deed.receipt)
  )

/** Whether it is told that a deed is not undone. */
const isToldAsLeft = (run: Observed, { agent, callId = "", tool }: Deed): boolean =>
  run.events.some((event) =>
    event._tag === "ToolCompensated" && event.tool === tool && event.outcome === "not_undone" &&
    (event.callId === callId || (event.callId.endsWith(`/${callId}`) && event.path.at(-1) !== agent))
  )

const isRejected = (run: Observed): boolean =>
  run.pauses.some(({ decisions }) => decisions.some(({ _tag }) => _tag === "Reject"))

export const undoingLaws = {
  /** What was done in a run of an agent that undoes, and that ended badly, is undone, or told as what is not. */
  each_that_undoes_has_undone: ofEachRun((run) => {
    if (!isTold(run)) return []
    const runs = agentRunsOf(run)
    return run.deeds.flatMap((deed) => {
      const { callId, receipt, state, tool } = deed
      const { effects, undo } = specOf(run.program, tool)
      if (state !== "ok" || callId === undefined || effects === "read" || undo === "no") return []
      const around = runsAround(run, runs, deed)
      // Who has used the snapshot of a run within ends that, and not the run around it.
      if (around.some((one) => mayBeUsed(run, one))) return []
      const bad = around.find((one) => undoes(run.program, one) && hasEndedBadly(run, one, around.at(-1)!))
      return bad === undefined || isUndone(run, deed) || isToldAsLeft(run, deed)
        ? []
        : [`${tool} ${callId} (${receipt}) was done in ${bad.name}, which ended with ${bad.end?.outcome}, and stays`]
    })
  }),

  /** Nothing is undone by a run that goes on, or that ends well where nobody has refused anything. */
  nobody_undoes_who_goes_on: ofEachRun((run) => {
    if (!isTold(run)) return []
    const runs = agentRunsOf(run)
    return run.undone.flatMap(({ after, receipt, tool }) => {
      const deed = run.deeds.findLast((deed) => deed.tool === tool && deed.receipt === receipt && deed.after <= after)
      const around = deed === undefined ? [] : runsAround(run, runs, deed)
      if (around.length === 0) return []
      const isAllowed = around.some((one) =>
        undoes(run.program, one) && one.begunAt < after && (one.end?.at ?? Infinity) >= after &&
        one.end?.outcome !== "paused" && (one.end?.outcome !== "success" || isRejected(run))
      )
      return isAllowed ? [] : [`${tool} ${receipt} is undone, and what has done it goes on, or has ended well`]
    })
  })
} as const satisfies Readonly<Record<string, Law>>
