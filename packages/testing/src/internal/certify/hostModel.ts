/** Reference model of a host: the table of states, the fence and the decisions, without storage. */
import { type State, type Transition, type TransitionName, transitions } from "@recourse/durable/HostStates"

/** A run in the model. */
export interface ModelRun {
  readonly runId: string
  state: State
  epoch: number
  segment: number
  isLeaseOver: boolean
  isCancelled: boolean
  /** By position. */
  readonly steps: Array<
    { readonly epoch: number; readonly key: string; readonly segment: number; readonly isDenied: boolean }
  >
  readonly decisions: Array<{ segment: number; readonly callId: string; isUsed: boolean }>
}

/** State in which an owner leaves a run in the model. */
export type ModelLeaving = "completed" | "failed" | "cancelled" | "waiting" | "queued" | "lent" | "asked"

const names: Readonly<Record<ModelLeaving, TransitionName>> = {
  completed: "complete",
  failed: "fail",
  cancelled: "stop",
  waiting: "pause",
  queued: "release",
  lent: "lend",
  asked: "ask"
}

const table: Readonly<Record<TransitionName, Transition>> = transitions

/** True if a run may make a transition. */
export const may = (run: ModelRun, name: TransitionName): boolean => table[name].from.includes(run.state)

const move = (run: ModelRun, name: TransitionName): void => {
  run.state = table[name].to
}

/** True if an epoch owns a run. */
export const owns = (run: ModelRun, epoch: number): boolean => run.epoch === epoch && may(run, "release")

/** The status that `get` returns. */
export const statusOf = ({ state }: ModelRun): string => state === "lent" || state === "returning" ? "running" : state

export const insert = (runId: string, isOwned: boolean, isLeaseOver: boolean): ModelRun => ({
  runId,
  state: table[isOwned ? "begin" : "add"].to,
  epoch: isOwned ? 1 : 0,
  segment: 0,
  isLeaseOver: !isOwned || isLeaseOver,
  isCancelled: false,
  steps: [],
  decisions: []
})

/** True if a process may take a run. */
export const isTakable = (run: ModelRun): boolean => may(run, "claim") && run.isLeaseOver

export const take = (run: ModelRun, isLeaseOver: boolean): void => {
  move(run, "claim")
  run.epoch++
  run.isLeaseOver = isLeaseOver
}

/** Asks for the place of a run, of so many that the others leave. */
export const regain = (run: ModelRun, others: number, place: number): void => {
  if (may(run, "request")) move(run, "request")
  if (may(run, "regain") && others < place) move(run, "regain")
}

export const append = (
  run: ModelRun,
  { epoch, key, position, startsWrite }: {
    readonly epoch: number
    readonly key: string
    readonly position: number
    readonly startsWrite: boolean
  }
): "added" | "denied" | "lost" => {
  if (!owns(run, epoch)) return "lost"
  const there = run.steps[position]
  if (there !== undefined) {
    if (there.epoch !== epoch || there.key !== key) return "lost"
    return there.isDenied ? "denied" : "added"
  }
  const isDenied = startsWrite && run.isCancelled
  run.steps.push({ epoch, key, segment: run.segment, isDenied })
  return isDenied ? "denied" : "added"
}

/** A run without an owner is cancelled: it ends, or is queued if its execution has recorded a step. */
const cancelUnowned = (run: ModelRun): void => {
  run.isLeaseOver = true
  if (run.steps.some(({ segment }) => segment === run.segment)) return move(run, "compensate")
  run.steps.push({ epoch: run.epoch, key: "cancelled", segment: run.segment, isDenied: false })
  move(run, "cancel")
}

/** Leaves a run; `key` is that of its last step. */
export const settle = (run: ModelRun, epoch: number, leaving: ModelLeaving, key: string): boolean => {
  const name = names[leaving]
  if (run.epoch !== epoch || !may(run, name)) return false
  if (leaving === "queued" || leaving === "lent" || leaving === "asked") {
    if (leaving === "queued") run.isLeaseOver = true
    move(run, name)
    return true
  }
  run.steps.push({ epoch, key, segment: run.segment, isDenied: false })
  run.isLeaseOver = true
  move(run, name)
  if (leaving !== "waiting") return true
  const left = run.decisions.filter(({ isUsed, segment }) => segment === run.segment && !isUsed)
  run.segment++
  for (const decision of left) decision.segment = run.segment
  if (run.isCancelled) cancelUnowned(run)
  else if (left.length > 0) move(run, "decide")
  return true
}

/** Returns the call that has a decision already, or whose execution is another one. */
export const decide = (run: ModelRun, segment: number, callId: string): string | undefined => {
  if (run.segment !== segment) return callId
  if (run.decisions.some((one) => one.segment === segment && one.callId === callId)) return callId
  run.decisions.push({ segment, callId, isUsed: false })
  if (may(run, "decide")) move(run, "decide")
  return undefined
}

export const cancel = (run: ModelRun): boolean => {
  if (!may(run, "release") && !may(run, "cancel")) return false
  run.isCancelled = true
  if (may(run, "cancel")) cancelUnowned(run)
  return true
}

/** The decisions that an owner resumes with: fixed when they are first read. */
export const decisionsOf = (run: ModelRun, epoch: number): ReadonlyArray<string> => {
  if (!owns(run, epoch) || run.segment === 0) return []
  const ofSegment = run.decisions.filter(({ segment }) => segment === run.segment)
  const fixed = ofSegment.some(({ isUsed }) => isUsed) ? ofSegment.filter(({ isUsed }) => isUsed) : ofSegment
  for (const decision of fixed) decision.isUsed = true
  return fixed.map(({ callId }) => callId)
}
