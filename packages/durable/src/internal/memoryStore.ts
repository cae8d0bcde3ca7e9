/** Store of durable runs in memory. Its clock is the monotonic one. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Status } from "@recourse/core/Runs"
import type { Hold, Step, Store, StoredRun } from "./store.ts"

interface Kept {
  run: StoredRun
  leasedUntil: number
  readonly steps: Array<Step>
  readonly decisions: Array<{ leg: number; readonly callId: string; readonly decision: Schema.Json; used: boolean }>
}

const ended: ReadonlySet<Status> = new Set<Status>(["completed", "failed", "cancelled"])

/** @internal What JSON keeps of a value: nothing in a store is shared with a run. */
const copy = <A>(value: A): A => value === undefined ? value : JSON.parse(JSON.stringify(value)) as A

export const memoryStore = (): Store => {
  const all = new Map<string, Kept>()
  const at = <A>(use: (now: number) => A): Effect.Effect<A> =>
    Effect.clockWith((clock) => Effect.sync(() => use(Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n))))
  const heldBy = ({ epoch, runId }: Hold): Kept | undefined => {
    const kept = all.get(runId)
    return kept?.run.epoch === epoch && kept.run.status === "running" ? kept : undefined
  }
  const change = (kept: Kept, now: number, fields: Partial<StoredRun>): void => {
    kept.run = { ...kept.run, ...fields, updatedAt: now }
  }
  const undecided = ({ decisions, run }: Kept) => decisions.filter(({ leg, used }) => leg === run.leg && !used)
  const append = (kept: Kept, step: Step): boolean => {
    const there = kept.steps[step.position]
    if (there !== undefined) return there.epoch === step.epoch && there.key === step.key
    if (kept.steps.length !== step.position) return false
    kept.steps.push(copy(step))
    return true
  }
  return {
    insert: (run) =>
      at((now) => {
        const there = all.get(run.runId)
        if (there !== undefined) return { run: there.run, isNew: false }
        const added: StoredRun = {
          ...copy(run),
          owner: run.owner,
          status: "queued",
          epoch: 0,
          leg: 0,
          snapshot: undefined,
          pending: [],
          outcome: undefined,
          isCancelled: false,
          startedAt: now,
          updatedAt: now
        }
        all.set(run.runId, { run: added, leasedUntil: 0, steps: [], decisions: [] })
        return { run: added, isNew: true }
      }),
    claim: ({ agents, leaseMillis, limit }) =>
      at((now) => {
        const due = [...all.values()].filter(({ leasedUntil, run }) =>
          agents.includes(run.agent) && (run.status === "queued" || (run.status === "running" && leasedUntil <= now))
        ).slice(0, limit)
        for (const kept of due) {
          change(kept, now, { status: "running", epoch: kept.run.epoch + 1 })
          kept.leasedUntil = now + leaseMillis
        }
        return due.map(({ run }) => run)
      }),
    renew: (holds, leaseMillis) =>
      at((now) =>
        holds.flatMap((hold) => {
          const kept = heldBy(hold)
          if (kept === undefined) return []
          kept.leasedUntil = now + leaseMillis
          return [hold.runId]
        })
      ),
    cancelled: (runIds) => Effect.sync(() => runIds.filter((runId) => all.get(runId)?.run.isCancelled === true)),
    load: (runId, leg) =>
      Effect.sync(() => {
        const { steps = [] } = all.get(runId) ?? {}
        const last = steps.at(-1)
        return {
          steps: steps.filter((step) => step.leg === leg),
          lastEpoch: last?.epoch ?? 0,
          positions: steps.length,
          events: last === undefined ? 0 : last.firstEvent + last.events.length
        }
      }),
    append: (steps) =>
      Effect.sync(() =>
        steps.map((step) => {
          const kept = heldBy(step)
          return kept !== undefined && append(kept, step)
        })
      ),
    settle: (hold, { last, outcome, pending, snapshot, status }) =>
      at((now) => {
        const kept = heldBy(hold)
        if (kept === undefined) {
          // The answer of an earlier try was lost.
          const there = all.get(hold.runId)?.steps[last.position]
          return there !== undefined && there.epoch === hold.epoch && there.key === last.key
        }
        if (!append(kept, last)) return false
        const waits = status === "waiting"
        kept.leasedUntil = 0
        change(kept, now, {
          status,
          pending: copy(pending),
          outcome: copy(outcome),
          ...(waits ? { snapshot: copy(snapshot), leg: kept.run.leg + 1 } : undefined)
        })
        if (!waits) return true
        const left = kept.decisions.filter((decision) => decision.leg === kept.run.leg - 1 && !decision.used)
        for (const decision of left) decision.leg++
        if (kept.run.isCancelled) change(kept, now, { status: "cancelled", pending: [] })
        else if (left.length > 0) change(kept, now, { status: "queued" })
        return true
      }),
    release: (holds) =>
      at((now) => {
        for (const hold of holds) {
          const kept = heldBy(hold)
          if (kept === undefined) continue
          kept.leasedUntil = 0
          change(kept, now, { status: "queued" })
        }
      }),
    decide: (runId, leg, decisions) =>
      at((now) => {
        const kept = all.get(runId)
        const twice = decisions.find(({ callId }) =>
          kept?.run.leg !== leg || kept.decisions.some((other) => other.leg === leg && other.callId === callId)
        )
        if (kept === undefined || twice !== undefined) return { decidedBefore: twice?.callId }
        kept.decisions.push(...decisions.map((decision) => ({ ...copy(decision), leg, used: false })))
        if (kept.run.status === "waiting") change(kept, now, { status: "queued" })
        return { decidedBefore: undefined }
      }),
    decisions: (hold, leg) =>
      Effect.sync(() => {
        const kept = heldBy(hold)
        if (kept === undefined) return []
        const fixed = kept.decisions.filter((decision) => decision.leg === leg && decision.used)
        if (fixed.length > 0) return fixed.map(({ decision }) => decision)
        return undecided(kept).map((decision) => {
          decision.used = true
          return decision.decision
        })
      }),
    cancel: (runId) =>
      at((now) => {
        const kept = all.get(runId)
        if (kept === undefined || ended.has(kept.run.status)) return false
        change(kept, now, {
          isCancelled: true,
          ...(kept.run.status === "running" ? undefined : { status: "cancelled", pending: [] })
        })
        return true
      }),
    get: (runId) => Effect.sync(() => all.get(runId)?.run),
    events: (runId, from) =>
      Effect.sync(() =>
        (all.get(runId)?.steps ?? []).flatMap(({ events, firstEvent }) =>
          events.map((event, index) => ({ number: firstEvent + index, event }))
        ).filter(({ number }) => number >= from)
      ),
    list: ({ agent, limit = 100, owner, startedBefore, status }) =>
      Effect.sync(() =>
        [...all.values()].map(({ run }) => run).filter((run) =>
          (agent === undefined || run.agent === agent) && (owner === undefined || run.owner === owner) &&
          (status === undefined || run.status === status) &&
          (startedBefore === undefined || run.startedAt < startedBefore)
        ).toReversed().slice(0, limit)
      ),
    purge: (olderThanMillis) =>
      at((now) => {
        const old = [...all.values()].filter(({ run }) =>
          ended.has(run.status) && run.updatedAt <= now - olderThanMillis
        )
        for (const { run } of old) all.delete(run.runId)
        return old.length
      })
  }
}
