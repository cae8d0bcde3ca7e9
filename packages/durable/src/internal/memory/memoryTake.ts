/** The operation `take` of a host in memory. */
import type * as Effect from "effect/Effect"
import { type MemoryRows, type Row, stateOfRow } from "./memoryRows.ts"
import type { LeasedRun, StoredRun, Take, Taken } from "../store/store.ts"
import { MemoryQueues } from "./memoryQueues.ts"
import { isAllowed } from "../store/states.ts"

/** Makes the operation over rows. */
export const memoryTake = (rows: MemoryRows): (wanted: Take) => Effect.Effect<Taken> => {
  const queues = new MemoryQueues()
  const placed = (agent: string, isPlaced: (row: Row) => boolean): number =>
    [...rows.all.values()].filter((row) => row.run.agent === agent && row.run.status === "running" && isPlaced(row))
      .length

  const claim = (now: number, { agents = [], leaseMillis = 0, limit = 0, only, onlyCancelled }: Take) => {
    const found: Array<Row> = []
    for (const one of agents) {
      const due = [...rows.all.values()].filter((row) =>
        row.run.agent === one.agent && one.versions.includes(row.run.version) && row.leasedUntil <= now &&
        isAllowed("claim", stateOfRow(row)) && (row.run.isCancelled || onlyCancelled !== true) &&
        (only === undefined || only.includes(row.run.runId))
      )
      const isPlaced = ({ leasedUntil, lent }: Row) => lent === 0 || (lent === 2 && leasedUntil > now)
      found.push(...queues.permitted(one, due, placed(one.agent, isPlaced), now, limit - found.length))
    }
    for (const row of found) {
      const { adopted } = agents.find(({ agent }) => agent === row.run.agent)!
      const version = adopted?.[row.run.version] ?? row.run.version
      rows.move(row, "claim", now, { epoch: row.run.epoch + 1, version })
      row.leasedUntil = now + leaseMillis
      row.renewedAt = now
    }
    return found.map(({ run }) => run)
  }

  const dueOf = (now: number, { due = [], leaseMillis = 0, limit = 0 }: Take): ReadonlyArray<StoredRun> => {
    const found = [...rows.all.values()].filter(({ run, wakeAt }) =>
      run.status === "waiting" && wakeAt > 0 && wakeAt <= now &&
      due.some(({ agent, versions }) => agent === run.agent && versions.includes(run.version))
    ).slice(0, limit)
    for (const row of found) row.wakeAt = now + leaseMillis
    return found.map(({ run }) => run)
  }

  const regain = (row: Row, now: number, place: number): void => {
    if (isAllowed("request", stateOfRow(row))) rows.move(row, "request", now)
    const isFree = placed(row.run.agent, ({ lent }) => lent === 0) < place
    if (isFree && isAllowed("regain", stateOfRow(row))) rows.move(row, "regain", now)
  }

  const leasedRuns = (now: number, { leases = [], leaseMillis }: Take): ReadonlyArray<LeasedRun> =>
    leases.flatMap(({ place, ...hold }) => {
      const row = rows.from("release", hold)
      if (row === undefined) return []
      if (place !== undefined) regain(row, now, place)
      if (leaseMillis !== undefined) {
        // A process that was frozen adds no more than its lease.
        const owned = Math.max(0, Math.min(now, row.leasedUntil) - row.renewedAt)
        row.leasedUntil = now + leaseMillis
        row.run = { ...row.run, ran: row.run.ran + owned }
        row.renewedAt = now
      }
      const { isCancelled, runId } = row.run
      return [{ runId, isCancelled, isRead: row.readUntil > now, hasPlace: row.lent === 0 }]
    })

  return (wanted) =>
    rows.at((now) => ({ leases: leasedRuns(now, wanted), taken: claim(now, wanted), due: dueOf(now, wanted) }))
}
