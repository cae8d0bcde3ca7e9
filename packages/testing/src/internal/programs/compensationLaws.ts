/** Laws about compensations of programs. */
import { count, isAmbiguous, isWaiting, type Law, ofEachRun, specOf } from "./judging.ts"
import type { Observed, Part } from "./observed.ts"
import type { CompensatedEffect, SideEffect } from "./world.ts"

const canCompensate = (run: Observed, { tool }: SideEffect): boolean => {
  const { effects, undo } = specOf(run.program, tool)
  return undo !== "no" && effects !== "read"
}

/** The successful executions of a compensated call. */
const doneAs = (run: Observed, { receipt, tool }: CompensatedEffect): ReadonlyArray<SideEffect> =>
  run.sideEffects.filter((effect) => effect.tool === tool && effect.receipt === receipt && effect.state === "ok")

/** The executions of a compensated call: also those that repeated it under its key, and failed. */
const attemptsAt = (run: Observed, { receipt, tool }: CompensatedEffect): ReadonlyArray<SideEffect> =>
  run.sideEffects.filter((effect) => effect.tool === tool && effect.receipt === receipt)

/** Position at which the outcome of a call is reported: before that, another attempt may be about to repeat it. */
const reportedAt = ({ events }: Observed, { callId, endedAfter = Infinity }: SideEffect): number => {
  const at = events.findIndex((event, index) =>
    index >= endedAfter && event._tag === "ToolResult" && event.callId === callId
  )
  return at < 0 ? Infinity : at
}

const isIn = ({ events: [from, to] }: Part, at: number): boolean => from <= at && at <= to

/** True if each part of a program is one run of the compensating agent, and events name it. */
const hasOneRun = ({ program }: Observed): boolean =>
  program.compensates && !program.undoesAround && program.form === "alone" && program.observers === "fine"

const isRejected = (run: Observed): boolean =>
  run.pauses.some(({ decisions }) => decisions.some(({ _tag }) => _tag === "Reject"))

/** Each part: its end, its calls, and the compensated ones. An interruption may come behind the end of a run. */
const partsOf = (run: Observed) =>
  run.parts.flatMap((part) => {
    const [from, to] = part.events
    const outcome = run.events.slice(from, to).findLast((event) => event._tag === "RunFinished")?.outcome
    const last = run.events.findLastIndex((event, index) => index < to && event._tag === "RunStarted")
    const start = run.events[last]
    // An interrupted resumption without executions releases its snapshot: the run has not ended.
    const isGivenBack = outcome === "interrupted" && start?._tag === "RunStarted" && start.resumed &&
      !run.sideEffects.some(({ after }) => last < after && after <= to)
    return outcome === undefined ? [] : [{
      part,
      goesOn: isWaiting(part) || (run.program.asks === "outside" && (isGivenBack || outcome === "paused")),
      isGood: outcome === "success",
      sideEffects: run.sideEffects.filter((effect) => isIn(part, effect.after) && canCompensate(run, effect)),
      compensations: run.compensations.filter(({ after }) => isIn(part, after))
    }]
  })

/** The parts that ended for good. */
const endings = (run: Observed) => partsOf(run).filter(({ goesOn }) => !goesOn)

export const compensationLaws = {
  /** No call is compensated twice, each under a key of its own, and only completed ones. */
  undone_once_and_only_what_was_done: ofEachRun((run) => {
    const { compensations } = run
    if (!run.program.compensates && !run.program.undoesAround) {
      return compensations.map(({ receipt }) => `${receipt} is compensated without a report`)
    }
    return [
      ...[...count(compensations.map(({ receipt, tool }) => `${tool} ${receipt}`))].flatMap(([effect, times]) =>
        times > 1 ? [`${effect} is compensated ${times} times`] : []
      ),
      ...[...count(compensations.map(({ key }) => String(key)))].flatMap(([key, times]) =>
        times > 1 || key === "undefined" ? [`${times} are compensated under the key ${key}`] : []
      ),
      ...compensations.flatMap((one) =>
        doneAs(run, one).length > 0 ? [] : [`${one.tool} ${one.receipt} is compensated, and may not have happened`]
      )
    ]
  }),

  /** A failed run compensates each successful write, or reports it as uncompensated, together with unknown ones. */
  badly_ended_is_undone: ofEachRun((run) => {
    if (!hasOneRun(run)) return []
    return endings(run).flatMap(({ sideEffects, isGood, part, compensations }) => {
      if (isGood) return []
      const left = new Set(
        part.record?.compensations?.flatMap(({ callId, outcome }) => outcome === "not_undone" ? [callId] : []) ?? []
      )
      const isCompensated = ({ callId, tool }: SideEffect) =>
        sideEffects.some((other) =>
          other.tool === tool && other.callId === callId &&
          compensations.some(({ receipt }) => receipt === other.receipt)
        )
      return sideEffects.flatMap((effect) => {
        const { callId, receipt, state, tool } = effect
        const isKnown = callId === undefined || left.has(callId) || isCompensated(effect)
        if (isKnown || state === "declined") return []
        if (!isAmbiguous(effect)) return [`${tool} ${callId} (${receipt}) is neither compensated nor reported`]
        return specOf(run.program, tool).effects === "write"
          ? [`${tool} ${callId} may have been done (${state}), and is not reported`]
          : []
      })
    })
  }),

  /** A call that started after another call's report is compensated before that. */
  undone_in_reverse: ofEachRun((run) => {
    if (!hasOneRun(run)) return []
    return endings(run).flatMap(({ compensations }) =>
      compensations.flatMap((later, index) =>
        compensations.slice(0, index).flatMap((earlier) => {
          const reported = Math.max(...attemptsAt(run, earlier).map((effect) => reportedAt(run, effect)))
          const began = Math.min(...attemptsAt(run, later).map(({ after }) => after))
          return reported < began
            ? [`${earlier.receipt} was reported as done before ${later.receipt} started, and is compensated before it`]
            : []
        })
      )
    )
  }),

  /**
   * A continuing run compensates no write: one that waits, one that was interrupted while it did, and a resumption that
   * releases its snapshot.
   */
  what_goes_on_stays: ofEachRun((run) =>
    hasOneRun(run)
      ? partsOf(run).flatMap(({ goesOn, compensations }) =>
        goesOn ? compensations.map(({ receipt }) => `${receipt} is compensated, and the run continues`) : []
      )
      : []
  ),

  /** A successful run without rejections compensates no write. */
  well_ended_stays: ofEachRun((run) => {
    if (!hasOneRun(run) || isRejected(run)) return []
    return endings(run).flatMap(({ isGood, compensations }) =>
      isGood ? compensations.map(({ receipt }) => `${receipt} is compensated, and the run ended well`) : []
    )
  })
} as const satisfies Readonly<Record<string, Law>>
