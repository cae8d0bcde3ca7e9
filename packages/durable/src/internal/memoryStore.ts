/** Store of durable runs in memory. Its clock is the monotonic one. */
/* oxlint-disable max-lines -- the operations of one store */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Runs from "@recourse/core/Runs"
import { cancelledStep, ended, needsRunner } from "./ended.ts"
import { MemoryMessages } from "./memoryMessages.ts"
import { MemoryQueues } from "./memoryQueues.ts"
import { type Appended, type Count, denied, type Hold, type Step, type Store, type StoredRun } from "./store.ts"

interface Kept {
  run: StoredRun
  leasedUntil: number
  renewedAt: number
  readUntil: number
  wakeAt: number
  /** Whether its place in its agent's queue is another's, and whether it wants it back. */
  lent: false | "lent" | "back"
  readonly steps: Array<Step>
  readonly signals: Map<string, Schema.Json>
  readonly decisions: Array<{ leg: number; readonly callId: string; readonly decision: Schema.Json; used: boolean }>
}

/** @internal What JSON keeps of a value: nothing in a store is shared with a run. */
const copy = <A>(value: A): A => value === undefined ? value : JSON.parse(JSON.stringify(value)) as A

// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its maps
export const memoryStore = (): Store => {
  const all = new Map<string, Kept>()
  const queues = new MemoryQueues()
  const messages = new MemoryMessages()
  const stepsOf = (runId: string): ReadonlyArray<Step> => all.get(runId)?.steps ?? []
  const at = <A>(use: (now: number) => A): Effect.Effect<A> =>
    Effect.clockWith((clock) => Effect.sync(() => use(Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n))))
  const heldBy = ({ epoch, runId }: Hold): Kept | undefined => {
    const kept = all.get(runId)
    return kept?.run.epoch === epoch && kept.run.status === "running" ? kept : undefined
  }
  const change = (kept: Kept, now: number, fields: Partial<StoredRun>): void => {
    kept.run = { ...kept.run, ...fields, updatedAt: now }
  }
  const placed = (agent: string, isPlaced: (kept: Kept) => boolean): number =>
    [...all.values()].filter((kept) => kept.run.agent === agent && kept.run.status === "running" && isPlaced(kept))
      .length
  const undecided = ({ decisions, run }: Kept) => decisions.filter(({ leg, used }) => leg === run.leg && !used)
  const append = (kept: Kept, { startsWrite, ...step }: Step): Appended => {
    const there = kept.steps[step.position]
    if (there !== undefined) {
      if (there.epoch !== step.epoch || there.key !== step.key) return "lost"
      return there.kind === denied ? "denied" : "added"
    }
    if (kept.steps.length !== step.position) return "lost"
    const isDenied = startsWrite === true && kept.run.isCancelled
    kept.steps.push(copy(isDenied ? { ...step, kind: denied } : step))
    return isDenied ? "denied" : "added"
  }
  /** Where the next step stands. */
  const endOf = ({ steps }: Kept) => {
    const last = steps.at(-1)
    return { positions: steps.length, events: last === undefined ? 0 : last.firstEvent + last.events.length }
  }
  const cancelUnheld = (kept: Kept, now: number): void => {
    const hasSteps = kept.steps.some(({ kind, leg }) => leg === kept.run.leg && kind !== "told")
    if (needsRunner(kept.run, hasSteps)) {
      kept.leasedUntil = 0
      return change(kept, now, { status: "queued", askedOf: undefined })
    }
    const { events, positions } = endOf(kept)
    kept.steps.push(
      cancelledStep(kept.run, messages.conversationOf(kept.run.runId, stepsOf), {
        at: now,
        position: positions,
        firstEvent: events
      })
    )
    change(kept, now, { status: "cancelled", pending: [], askedOf: undefined })
  }
  return {
    insert: ({ conversation, delayMillis = 0, leaseMillis, ...run }) =>
      at((now) => {
        const there = all.get(run.runId)
        if (there !== undefined) return { run: there.run, isNew: false }
        const added: StoredRun = {
          ...copy(run),
          owner: run.owner,
          status: leaseMillis === undefined ? "queued" : "running",
          epoch: leaseMillis === undefined ? 0 : 1,
          leg: 0,
          snapshot: undefined,
          pending: [],
          outcome: undefined,
          isCancelled: false,
          ran: 0,
          asked: 0,
          askedOf: undefined,
          startedAt: now,
          updatedAt: now
        }
        all.set(run.runId, {
          run: added,
          leasedUntil: (leaseMillis ?? delayMillis) > 0 ? now + (leaseMillis ?? delayMillis) : 0,
          renewedAt: now,
          readUntil: 0,
          wakeAt: 0,
          lent: false,
          steps: [],
          decisions: [],
          signals: new Map()
        })
        if (conversation !== undefined) messages.addInput(run.runId, copy(conversation))
        return { run: added, isNew: true }
      }),
    claim: ({ agents, leaseMillis, limit, onlyCancelled }) =>
      at((now) => {
        const due: Array<Kept> = []
        for (const one of agents) {
          const found = [...all.values()].filter(({ leasedUntil, run }) =>
            run.agent === one.agent && one.versions.includes(run.version) && leasedUntil <= now &&
            (run.status === "queued" || run.status === "running") && (run.isCancelled || onlyCancelled !== true)
          )
          const isPlaced = ({ leasedUntil, lent }: Kept) => lent === false || (lent === "back" && leasedUntil > now)
          due.push(...queues.permitted(one, found, placed(one.agent, isPlaced), now, limit - due.length))
        }
        for (const kept of due) {
          change(kept, now, { status: "running", epoch: kept.run.epoch + 1 })
          kept.leasedUntil = now + leaseMillis
          kept.renewedAt = now
          kept.lent = false
        }
        return due.map(({ run }) => run)
      }),
    due: ({ agents, forMillis, limit }) =>
      at((now) => {
        const due = [...all.values()].filter(({ run, wakeAt }) =>
          run.status === "waiting" && wakeAt > 0 && wakeAt <= now &&
          agents.some(({ agent, versions }) => agent === run.agent && versions.includes(run.version))
        ).slice(0, limit)
        for (const kept of due) kept.wakeAt = now + forMillis
        return due.map(({ run }) => run)
      }),
    asked: ({ leg, runId }, { asked, askedOf, wakeInMillis }) =>
      at((now) => {
        const kept = all.get(runId)
        if (kept?.run.leg !== leg || kept.run.status !== "waiting") return
        kept.run = { ...kept.run, asked, askedOf }
        kept.wakeAt = wakeInMillis === undefined ? 0 : now + wakeInMillis
      }),
    adopt: (hold, version) =>
      Effect.sync(() => {
        const kept = heldBy(hold)
        if (kept !== undefined) kept.run = { ...kept.run, version }
        return kept !== undefined
      }),
    renew: (holds, leaseMillis) =>
      at((now) =>
        holds.flatMap((hold) => {
          const kept = heldBy(hold)
          if (kept === undefined) return []
          kept.leasedUntil = now + leaseMillis
          kept.run = { ...kept.run, ran: kept.run.ran + now - kept.renewedAt }
          kept.renewedAt = now
          return [hold.runId]
        })
      ),
    wanted: (runIds) =>
      at((now) =>
        runIds.flatMap((runId) => {
          const { readUntil = 0, run } = all.get(runId) ?? {}
          const isCancelled = run?.isCancelled === true
          return isCancelled || readUntil > now ? [{ runId, isCancelled, isRead: readUntil > now }] : []
        })
      ),
    read: (runId, forMillis) =>
      at((now) => {
        const kept = all.get(runId)
        if (kept !== undefined) kept.readUntil = now + forMillis
      }),
    load: (runId, leg) =>
      Effect.sync(() => {
        const { steps = [] } = all.get(runId) ?? {}
        const kept = all.get(runId)
        return {
          steps: steps.filter((step) => step.leg === leg),
          lastEpoch: steps.findLast(({ kind }) => kind !== "told")?.epoch ?? 0,
          ...(kept === undefined ? { positions: 0, events: 0 } : endOf(kept))
        }
      }),
    messages: (runId) => Effect.sync(() => messages.of(runId)),
    steps: (ids) =>
      Effect.sync(() =>
        ids.flatMap(({ position, runId }) => {
          const step = all.get(runId)?.steps[position]
          return step === undefined ? [] : [step]
        })
      ),
    append: (steps) =>
      Effect.sync(() =>
        steps.map((step) => {
          const kept = heldBy(step)
          return kept === undefined ? "lost" : append(kept, step)
        })
      ),
    settle: (hold, { before = [], last, outcome, pending, said, snapshot, status, wakeInMillis }) =>
      at((now) => {
        const kept = heldBy(hold)
        if (kept === undefined) {
          // The answer of an earlier try was lost.
          const there = all.get(hold.runId)?.steps[last.position]
          return there !== undefined && there.epoch === hold.epoch && there.key === last.key
        }
        for (const step of before) append(kept, step)
        if (append(kept, last) === "lost") return false
        if (said !== undefined) messages.add(copy(said))
        const waits = status === "waiting"
        kept.leasedUntil = 0
        kept.wakeAt = wakeInMillis === undefined ? 0 : Math.max(1, now + wakeInMillis)
        change(kept, now, {
          status,
          pending: copy(pending),
          outcome: copy(outcome),
          ...(waits
            ? { snapshot: copy(snapshot), leg: kept.run.leg + 1, ran: 0, asked: 0, askedOf: undefined }
            : undefined)
        })
        if (!waits) return true
        const left = kept.decisions.filter((decision) => decision.leg === kept.run.leg - 1 && !decision.used)
        for (const decision of left) decision.leg++
        if (kept.run.isCancelled) cancelUnheld(kept, now)
        else if (left.length > 0) change(kept, now, { status: "queued" })
        return true
      }),
    lend: (hold) =>
      Effect.sync(() => {
        const kept = heldBy(hold)
        if (kept !== undefined) kept.lent = "lent"
      }),
    reclaim: (hold, concurrency) =>
      Effect.sync(() => {
        const kept = heldBy(hold)
        if (kept === undefined) return false
        kept.lent = "back"
        if (placed(kept.run.agent, ({ lent }) => lent === false) >= concurrency) return false
        kept.lent = false
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
        if (kept.run.status === "waiting") change(kept, now, { status: "queued", askedOf: undefined })
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
        change(kept, now, { isCancelled: true })
        if (kept.run.status !== "running") cancelUnheld(kept, now)
        return true
      }),
    children: (runId) =>
      Effect.sync(() =>
        [...all.values()].flatMap(({ run }) => run.parent === runId && !ended.has(run.status) ? [run.runId] : [])
      ),
    signal: (runId, name, value) =>
      Effect.sync(() => {
        const signals = all.get(runId)?.signals
        if (signals === undefined || signals.has(name)) return false
        signals.set(name, copy(value))
        return true
      }),
    signalled: (runId, name) =>
      Effect.sync(() => {
        const signals = all.get(runId)?.signals
        return signals?.has(name) === true ? { value: signals.get(name)! } : undefined
      }),
    ended: (runIds) =>
      Effect.sync(() => runIds.filter((runId) => ended.has(all.get(runId)?.run.status ?? "completed"))),
    get: (runId) => Effect.sync(() => all.get(runId)?.run),
    events: (runId, from) =>
      Effect.sync(() =>
        (all.get(runId)?.steps ?? []).flatMap(({ events, firstEvent }) =>
          events.map((event, index) => ({ number: firstEvent + index, event }))
        ).filter(({ number }) => number >= from)
      ),
    count: Effect.sync(() => {
      const counts = new Map<string, Count>()
      for (const { run: { agent, status } } of all.values()) {
        if (ended.has(status)) continue
        const of = status === "waiting" ? { status } : { agent, status }
        const key = JSON.stringify(of)
        counts.set(key, { ...of, count: (counts.get(key)?.count ?? 0) + 1 })
      }
      return [...counts.values()]
    }),
    list: (query) =>
      Effect.sync(() =>
        [...all.values()].map(({ run }) => run).filter((run) => Runs.isOf(run, query)).toSorted(Runs.newestFirst)
          .slice(0, query.limit ?? 100)
      ),
    purge: (olderThanMillis) =>
      at((now) => {
        const old = [...all.values()].filter(({ run }) =>
          ended.has(run.status) && run.updatedAt <= now - olderThanMillis
        )
        messages.delete(old.map(({ run }) => run.runId), stepsOf)
        for (const { run } of old) all.delete(run.runId)
        return old.length
      })
  }
}
