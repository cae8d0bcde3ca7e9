/** Laws about compensations of agents, in any composition: each run of each compensating agent is checked. */
import { type AgentRun, agentRunsOf, hasCompensation, runsAround } from "./agentRuns.ts"
import { clerk, partner } from "./forms.ts"
import { distinguishesCalls, type Law, ofEachRun, specOf } from "./judging.ts"
import type { Observed } from "./observed.ts"
import type { SideEffect } from "./world.ts"

/** True if events name the run of each effect. */
const isReported = ({ program }: Observed): boolean =>
  (program.compensates || program.undoesAround) && distinguishesCalls(program)

/** Codes of unfinished runs: a wait in a run that cannot wait, and a refused snapshot or decision. */
const noEnds: ReadonlySet<string | undefined> = new Set(["approval_required"])

/** True if a resumed run was interrupted before any execution: it has released its snapshot. */
const isGivenBack = ({ sideEffects }: Observed, { begunAt, end, isResumed, name }: AgentRun): boolean =>
  isResumed && end?.outcome === "interrupted" &&
  !sideEffects.some(({ after, agent }) =>
    begunAt < after && after <= end.at && (agent === name || (name !== clerk && name !== partner))
  )

/** True if the outermost run is interactive. */
const asksItself = ({ program: { asks, form } }: Observed, { parent }: AgentRun): boolean =>
  parent === undefined && (asks === "within" ? form === "alone" : asks === "around" && form !== "hand")

/** True if the outermost run may still resume: an interactive one cannot be resumed by others. */
const mayGoOn = (run: Observed, one: AgentRun): boolean =>
  one.end === undefined || noEnds.has(one.end.code) ||
  (!asksItself(run, one) && (one.end.outcome === "paused" || isGivenBack(run, one)))

/**
 * True if a run waited last, and a failing store of resumptions may have reported its snapshot as used: only the user
 * of the snapshot ends it.
 */
const mayBeUsed = (run: Observed, one: AgentRun): boolean =>
  (one.end?.outcome === "paused" || isGivenBack(run, one)) &&
  run.program.store.some(({ store }) => store === "resumptions")

/** True if a run, inner or outermost, ended so that its writes are compensated. */
const hasEndedBadly = (run: Observed, one: AgentRun, outermost: AgentRun): boolean => {
  if (mayGoOn(run, outermost)) return false
  return one.end?.outcome !== "success" && !noEnds.has(one.end?.code)
}

/** True if a call is compensated: a successful execution of it represents earlier ones. */
const isCompensated = (run: Observed, { agent, callId, instance, tool }: SideEffect): boolean =>
  run.sideEffects.some((effect) =>
    effect.tool === tool && effect.agent === agent && effect.callId === callId && effect.instance >= instance &&
    run.compensations.some((one) => one.tool === tool && one.receipt === effect.receipt)
  )

/** True if an effect is reported as uncompensated. */
const isReportedUncompensated = (run: Observed, { agent, callId = "", tool }: SideEffect): boolean =>
  run.events.some((event) =>
    event._tag === "ToolCompensated" && event.tool === tool && event.outcome === "not_undone" &&
    (event.callId === callId || (event.callId.endsWith(`/${callId}`) && event.path.at(-1) !== agent))
  )

const isRejected = (run: Observed): boolean =>
  run.pauses.some(({ decisions }) => decisions.some(({ _tag }) => _tag === "Reject"))

export const compensationOrderLaws = {
  /** Effects of a failed run of a compensating agent are compensated, or reported as uncompensated. */
  each_that_undoes_has_undone: ofEachRun((run) => {
    if (!isReported(run)) return []
    const runs = agentRunsOf(run)
    return run.sideEffects.flatMap((effect) => {
      const { callId, receipt, state, tool } = effect
      const { effects, undo } = specOf(run.program, tool)
      if (state !== "ok" || callId === undefined || effects === "read" || undo === "no") return []
      const around = runsAround(run, runs, effect)
      // The user of an inner run's snapshot ends that run, and not the outer one.
      if (around.some((one) => mayBeUsed(run, one))) return []
      const bad = around.find((one) => hasCompensation(run.program, one) && hasEndedBadly(run, one, around.at(-1)!))
      return bad === undefined || isCompensated(run, effect) || isReportedUncompensated(run, effect)
        ? []
        : [`${tool} ${callId} (${receipt}) was done in ${bad.name}, which ended with ${bad.end?.outcome}, and stays`]
    })
  }),

  /** A continuing run, or a successful one without rejections, compensates no write. */
  nobody_undoes_who_goes_on: ofEachRun((run) => {
    if (!isReported(run)) return []
    const runs = agentRunsOf(run)
    return run.compensations.flatMap(({ after, receipt, tool }) => {
      const effect = run.sideEffects.findLast((effect) =>
        effect.tool === tool && effect.receipt === receipt && effect.after <= after
      )
      const around = effect === undefined ? [] : runsAround(run, runs, effect)
      if (around.length === 0) return []
      const isAllowed = around.some((one) =>
        hasCompensation(run.program, one) && one.begunAt < after && (one.end?.at ?? Infinity) >= after &&
        one.end?.outcome !== "paused" && (one.end?.outcome !== "success" || isRejected(run))
      )
      return isAllowed ? [] : [`${tool} ${receipt} is compensated, and its run continues, or has ended well`]
    })
  })
} as const satisfies Readonly<Record<string, Law>>
