/** Laws about approvals: no call runs without one that it needs, and calls wait for theirs if they can. */
import { isAmbiguous, isApproved, type Law, ofEachRun, specOf } from "./judging.ts"
import { type Step, toolName } from "./program.ts"

/** Operators that run a call in parallel to itself: one may find the other's work stopped. */
const parallelOps: ReadonlySet<Step["op"]> = new Set(["race", "raceFirst", "both"])

export const approvalLaws = {
  /** No call runs without the approval of its own tool and arguments, and none that a policy denies. */
  approved_by_its_own_tool: ofEachRun((run) =>
    run.sideEffects.flatMap((effect) => {
      const { policy, tools } = run.program
      const isLast = effect.tool === toolName(run.program, tools.length - 1)
      if (isLast && policy === "deny") return [`${effect.tool} ${effect.callId} ran, and is denied`]
      const asks = specOf(run.program, effect.tool).approval || (isLast && policy === "ask")
      return asks && !isApproved(run, effect)
        ? [`${effect.tool} ${effect.callId}(${effect.order}) ran without an approval`]
        : []
    })
  ),

  /**
   * A call made by a tool waits for its approval if the outer calls can be repeated and each inner write is known to be
   * done.
   */
  asked_where_it_can_wait: ofEachRun((run) => {
    if (run.program.tools.some(({ recovery }) => recovery.some(({ op }) => parallelOps.has(op)))) return []
    return run.audit.flatMap(({ by, callId, decision, tool }) => {
      if (decision !== "denied" || by !== "approval") return []
      const path = callId.split("/")
      const excuse = run.sideEffects.find((effect) => {
        if (effect.callId === undefined) return true
        const { effects, keyed } = specOf(run.program, effect.tool)
        const isAround = path.length > 1 && callId.startsWith(`${effect.callId}/`)
        return effect.callId.split("/")[0] === path[0] && isAmbiguous(effect) &&
          (effects === "write" || (isAround && keyed !== "no"))
      })
      return excuse === undefined ? [`${tool} ${callId} is denied for want of an approval, and could wait`] : []
    })
  })
} as const satisfies Readonly<Record<string, Law>>
