/** Store of durable runs in memory. Its clock is the monotonic one, in milliseconds since the epoch. */
import * as Effect from "effect/Effect"
import * as Compensation from "@recourse/core/Compensation"
import * as Runs from "@recourse/core/Runs"
import { startedBy } from "../store/startedBy.ts"
import { ended } from "../store/unemittedEnds.ts"
import { memoryHost } from "./memoryHost.ts"
import { WakeUps } from "../store/wakeUps.ts"
import { copy, MemoryRows } from "./memoryRows.ts"
import type { Count, RunLists, RunLog, Store, StoredRun } from "../store/store.ts"

const logOf = (rows: MemoryRows, wakeUps: WakeUps): RunLog => ({
  messages: (runId) => Effect.sync(() => rows.messages.of(runId)),
  steps: (ids) =>
    Effect.sync(() =>
      ids.flatMap(({ position, runId }) => {
        const step = rows.stepsOf(runId)[position]
        return step === undefined ? [] : [step]
      })
    ),
  events: (runId, from, readMillis) =>
    rows.at((now) => {
      const row = rows.all.get(runId)
      if (row !== undefined && readMillis !== undefined) {
        row.readUntil = now + readMillis
        wakeUps.emit({ _tag: "Read", runId })
      }
      return rows.stepsOf(runId).flatMap(({ events, firstEvent }) =>
        events.map((event, index) => ({ number: firstEvent + index, event }))
      ).filter(({ number }) => number >= from)
    }),
  signal: (runId, name, value) =>
    Effect.sync(() => {
      const signals = rows.all.get(runId)?.signals
      if (signals === undefined || signals.has(name)) return false
      signals.set(name, copy(value))
      wakeUps.emit({ _tag: "Changed", runId })
      return true
    }),
  signalled: (runId, name) =>
    Effect.sync(() => {
      const signals = rows.all.get(runId)?.signals
      return signals?.has(name) === true ? { value: signals.get(name)! } : undefined
    })
})

/** True if a purge keeps a run for its parent: a child of one that has not ended, and each compensation. */
const isNeededBy = (parent: StoredRun | undefined, { agent }: StoredRun): boolean =>
  parent !== undefined && (!ended.has(parent.status) || Compensation.isName(agent))

/** The runs whose compensations have not ended. */
const compensatingOf = (rows: MemoryRows): ReadonlySet<string | undefined> =>
  new Set(
    [...rows.all.values()].flatMap(({ run: { agent, parent, status } }) =>
      Compensation.isName(agent) && !ended.has(status) ? [parent] : []
    )
  )

const listsOf = (rows: MemoryRows): RunLists => ({
  children: (runId) =>
    Effect.sync(() =>
      [...rows.all.values()].flatMap(({ run }) => startedBy(run) === runId && !ended.has(run.status) ? [run.runId] : [])
    ),
  ended: (runIds) =>
    Effect.sync(() => runIds.filter((runId) => ended.has(rows.all.get(runId)?.run.status ?? "completed"))),
  get: (runId) => Effect.sync(() => rows.all.get(runId)?.run),
  count: Effect.sync(() => {
    const counts = new Map<string, Count>()
    for (const { run: { agent, status } } of rows.all.values()) {
      if (ended.has(status)) continue
      const of = status === "waiting" ? { status } : { agent, status }
      const key = JSON.stringify(of)
      counts.set(key, { ...of, count: (counts.get(key)?.count ?? 0) + 1 })
    }
    return [...counts.values()]
  }),
  list: (query) =>
    Effect.sync(() =>
      [...rows.all.values()].map(({ run }) => run).filter((run) => Runs.isOf(run, query)).toSorted(Runs.newestFirst)
        .slice(0, query.limit ?? 100)
    ),
  purge: (olderThanMillis) =>
    rows.at((now) => {
      const compensating = compensatingOf(rows)
      const old = [...rows.all.values()].filter(({ run }) =>
        ended.has(run.status) && run.updatedAt <= now - olderThanMillis && !compensating.has(run.runId) &&
        !isNeededBy(rows.all.get(run.parent ?? "")?.run, run)
      )
      rows.messages.delete(old.map(({ run }) => run.runId), rows.stepsOf)
      for (const { run } of old) rows.all.delete(run.runId)
      return old.length
    })
})

/** Makes a store. */
export const memoryStore = (): Store => {
  const rows = new MemoryRows()
  const wakeUps = new WakeUps()
  return { ...memoryHost(rows, wakeUps), ...logOf(rows, wakeUps), ...listsOf(rows) }
}
