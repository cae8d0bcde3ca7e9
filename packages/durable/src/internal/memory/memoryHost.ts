/** Host in memory. */
import * as Effect from "effect/Effect"
import { ended } from "../store/unemittedEnds.ts"
import { copy, endOf, type MemoryRows, type Row } from "./memoryRows.ts"
import type { Host, Lease, Leaving, Settlement, StartedRun, StoredRun, WakeUp } from "../store/store.ts"
import { memoryTake } from "./memoryTake.ts"
import { settlingOf } from "../store/settleTransitions.ts"
import type { WakeUps } from "../store/wakeUps.ts"

const rowOf = ({ conversation: _conversation, delayMillis = 0, leaseMillis, ...run }: StartedRun, now: number): Row => {
  const isOwned = leaseMillis !== undefined
  const aloneFor = leaseMillis ?? delayMillis
  return {
    run: {
      ...copy(run),
      owner: run.owner,
      status: isOwned ? "running" : "queued",
      epoch: isOwned ? 1 : 0,
      segment: 0,
      snapshot: undefined,
      pending: [],
      outcome: undefined,
      isCancelled: false,
      ran: 0,
      asked: 0,
      askedOf: undefined,
      startedAt: now,
      updatedAt: now
    },
    lent: 0,
    leasedUntil: aloneFor > 0 ? now + aloneFor : 0,
    renewedAt: now,
    readUntil: 0,
    wakeAt: 0,
    steps: [],
    decisions: [],
    signals: new Map()
  }
}

/** Settles a run: it has ended, or waits. */
const settle = (rows: MemoryRows, hold: Lease, settlement: Settlement, now: number): boolean => {
  const { before = [], last, outcome, pending, said, snapshot, status, wakeInMillis } = settlement
  const name = settlingOf(settlement)
  const row = rows.from(name, hold)
  if (row === undefined) {
    // The answer of an earlier try was lost.
    const there = rows.of(hold)?.steps[last.position]
    return there !== undefined && there.epoch === hold.epoch && there.key === last.key
  }
  for (const step of before) rows.append(row, step)
  if (rows.append(row, last) === "lost") return false
  if (said !== undefined) rows.messages.add(copy(said))
  row.leasedUntil = 0
  row.wakeAt = wakeInMillis === undefined ? 0 : Math.max(1, now + wakeInMillis)
  const ends = { pending: copy(pending), outcome: copy(outcome) }
  if (status !== "waiting") {
    rows.move(row, name, now, ends)
    return true
  }
  const segment = row.run.segment + 1
  rows.move(row, name, now, { ...ends, snapshot: copy(snapshot), segment, ran: 0, asked: 0, askedOf: undefined })
  const left = row.decisions.filter((decision) => decision.segment === segment - 1 && !decision.used)
  for (const decision of left) decision.segment = segment
  if (row.run.isCancelled) rows.cancelUnowned(row, now)
  else if (left.length > 0) rows.move(row, "decide", now)
  return true
}

/** Leaves a run in any way. */
const leave = (rows: MemoryRows, hold: Lease, leaving: Leaving, now: number): boolean => {
  if ("last" in leaving) return settle(rows, hold, leaving, now)
  const name = settlingOf(leaving)
  const row = rows.from(name, hold)
  if (row === undefined) return false
  if ("asked" in leaving) {
    const { asked, askedOf, wakeInMillis } = leaving
    row.run = { ...row.run, asked, askedOf }
    row.wakeAt = wakeInMillis === undefined ? 0 : now + wakeInMillis
    return true
  }
  if (leaving.status === "queued") row.leasedUntil = 0
  rows.move(row, name, now)
  return true
}

/** The decisions of a segment: fixed when they are first read by an owner. */
const decisionsOf = (rows: MemoryRows, hold: Lease, segment: number) => {
  const row = rows.from("release", hold)
  if (row === undefined) return []
  const ofSegment = row.decisions.filter((decision) => decision.segment === segment)
  const fixed = ofSegment.some(({ used }) => used) ? ofSegment.filter(({ used }) => used) : ofSegment
  for (const decision of fixed) decision.used = true
  return fixed.map(({ decision }) => decision)
}

const queued: WakeUp = { _tag: "Queued" }

/** Makes a host over rows. */
export const memoryHost = (rows: MemoryRows, wakeUps: WakeUps): Host => {
  const statusOf = (runId: string): StoredRun["status"] | undefined => rows.all.get(runId)?.run.status
  /** Notifies that a run has changed, and that it may be taken if it is queued now. `isReleased`: its owner has given it back. */
  const changed = (runId: string, isReleased = false): void => {
    wakeUps.emit({ _tag: "Changed", runId })
    const run = rows.all.get(runId)?.run
    if (run?.status !== "queued") return
    const { agent, version } = run
    wakeUps.emit(isReleased ? { ...queued, released: { runId, agent, version } } : queued)
  }
  return {
    insert: (started) =>
      rows.at((now) => {
        const there = rows.all.get(started.runId)
        if (there !== undefined) return { run: there.run, isNew: false }
        const row = rowOf(started, now)
        rows.all.set(started.runId, row)
        if (started.conversation !== undefined) rows.messages.addInput(started.runId, copy(started.conversation))
        if (row.run.status === "queued" && row.leasedUntil === 0) wakeUps.emit(queued)
        return { run: row.run, isNew: true }
      }),
    take: memoryTake(rows),
    load: ({ epoch, segment, runId, startedAt }) =>
      Effect.sync(() => {
        const row = rows.all.get(runId)
        const { steps = [] } = row ?? {}
        return {
          steps: steps.filter((step) => step.segment === segment),
          lastEpoch: steps.findLast(({ kind }) => kind !== "told")?.epoch ?? 0,
          ...(row === undefined ? { positions: 0, events: 0 } : endOf(row)),
          decisions: epoch === undefined || segment === 0 ? [] : decisionsOf(rows, { epoch, runId, startedAt }, segment)
        }
      }),
    append: (steps) =>
      Effect.sync(() =>
        steps.map((step) => {
          const row = rows.from("release", step)
          if (row === undefined) return "lost"
          if (step.isFollowed === true) wakeUps.emit({ _tag: "Recorded", runId: step.runId })
          return rows.append(row, step)
        })
      ),
    settle: (hold, leaving) =>
      rows.at((now) => {
        const isLeft = leave(rows, hold, leaving, now)
        if (isLeft && leaving.status === "lent") wakeUps.emit(queued)
        else if (isLeft && leaving.status !== "asked") changed(hold.runId, true)
        return isLeft
      }),
    decide: (runId, segment, decisions) =>
      rows.at((now) => {
        const row = rows.all.get(runId)
        const twice = decisions.find(({ callId }) =>
          row?.run.segment !== segment ||
          row.decisions.some((other) => other.segment === segment && other.callId === callId)
        )
        if (row === undefined || twice !== undefined) return { decidedBefore: twice?.callId }
        row.decisions.push(...decisions.map((decision) => ({ ...copy(decision), segment, used: false })))
        if (row.run.status === "waiting") rows.move(row, "decide", now, { askedOf: undefined })
        changed(runId)
        return { decidedBefore: undefined }
      }),
    cancel: (runId) =>
      rows.at((now) => {
        const row = rows.all.get(runId)
        if (row === undefined || ended.has(row.run.status)) return false
        rows.change(row, now, { isCancelled: true })
        if (row.run.status !== "running") rows.cancelUnowned(row, now)
        wakeUps.emit({ _tag: "Cancelled", runId })
        if (statusOf(runId) === "queued") wakeUps.emit(queued)
        return true
      }),
    listen: wakeUps.listen
  }
}
