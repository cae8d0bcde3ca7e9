/** Table of the runs in memory: those that wait, and room for new ones. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Approval from "@recourse/core/Approval"
import {
  isEnded,
  isOf,
  newestFirst,
  type NumberedEvent,
  type Query,
  type RunInfo,
  type UnknownRun,
  unknownRun
} from "@recourse/core/Runs"
import type { Log } from "./log.ts"
import type { MemoryInbox } from "./memoryInbox.ts"
import type { Served } from "./served.ts"

/** A run and its known facts. */
export interface Run {
  info: RunInfo
  readonly served: Served
  readonly input: string
  readonly log: Log<NumberedEvent>
  readonly inbox: MemoryInbox
  /** While it waits. */
  snapshot: Approval.Snapshot | undefined
  /** While it runs. */
  fiber: Fiber.Fiber<void> | undefined
}

/** The runs by their ids, the ended ones in the order of their ends. */
export class RunTable {
  private readonly byId = new Map<string, Run>()
  /** Those that wait: each new message asks whether one of its thread does. */
  private readonly waiting = new Set<Run>()
  private readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get(runId: string): Run | undefined {
    return this.byId.get(runId)
  }

  add(run: Run): void {
    this.byId.set(run.info.runId, run)
  }

  /** Returns the runs of a query, the newest first. */
  list(query: Query): ReadonlyArray<RunInfo> {
    const { limit = 100 } = query
    const found: Array<RunInfo> = []
    const all = query.status === "waiting" ? this.waiting : this.byId.values()
    for (const { info } of all) if (isOf(info, query)) found.push(info)
    return found.toSorted(newestFirst).slice(0, limit)
  }

  /** The fibers of the runs that run. */
  get fibers(): ReadonlyArray<Fiber.Fiber<void>> {
    return [...this.byId.values()].flatMap(({ fiber }) => fiber === undefined ? [] : [fiber])
  }

  find(runId: string): Effect.Effect<Run, UnknownRun> {
    return Effect.suspend(() => {
      const run = this.byId.get(runId)
      return run === undefined ? Effect.fail(unknownRun(runId)) : Effect.succeed(run)
    })
  }

  /** Sets the present state of a run. */
  place(run: Run, info: RunInfo): void {
    run.info = info
    if (info.status === "waiting") this.waiting.add(run)
    else this.waiting.delete(run)
    if (!isEnded(run.info.status)) return
    // Behind those that ended before: the first ones are deleted first.
    this.byId.delete(info.runId)
    this.byId.set(info.runId, run)
  }

  /** Makes room for a run, and returns whether there is some. */
  makeRoom(): boolean {
    if (this.byId.size < this.capacity) return true
    for (const [runId, run] of this.byId) {
      if (isEnded(run.info.status)) return this.byId.delete(runId)
    }
    return false
  }
}
