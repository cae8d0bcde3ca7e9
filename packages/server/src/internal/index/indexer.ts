/**
 * Indexer: updates the index of runs, whenever an operator looks. It reads the events of runs that have changed since;
 * a running run is indexed by its start until it waits or ends.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import * as Compensation from "@recourse/core/Compensation"
import { isEnded, monotonicMillis, type RunInfo, Runs, type RunsService } from "@recourse/core/Runs"
import type { RunIndexService } from "./types.ts"
import { follow } from "../chat/segments.ts"
import { factsOf } from "./runFacts.ts"

/** Number of runs in one list. */
const pageSize = 200

/** Time limit of an update: the rest is indexed at the next one. */
const longest = 300

/** So often the store is asked at most. */
const freshFor = 400

/** So many runs that had not ended are looked at each time. */
const unfinishedAtOnce = 50

const decodeRequest = Schema.decodeUnknownOption(Compensation.Request)

const hasCompensable = (event: AgentEvent): boolean =>
  event._tag === "ToolResult" && event.write?.compensable !== undefined

const outcomes = { compensated: "undone", not_happened: "not_happened", not_compensated: "not_undone" } as const

/** The event of a write that another run has compensated, in the form of its own run's events. */
const compensationOf = (run: RunInfo, write: Compensation.RunWrite): ReadonlyArray<AgentEvent> => {
  const { because, callId, compensatedBy, error, state, tool } = write
  const outcome = Object.hasOwn(outcomes, state) ? outcomes[state as keyof typeof outcomes] : undefined
  if (outcome === undefined || compensatedBy === undefined) return []
  return [{
    _tag: "ToolCompensated",
    runId: run.runId,
    agentRunId: run.runId,
    path: [run.agent],
    sequence: 0,
    at: write.at,
    callId,
    tool,
    outcome,
    ...(because === undefined ? undefined : { because }),
    ...(error === undefined ? undefined : { error })
  }]
}

/** Keeps an index up to date. */
export class Indexer {
  private readonly runs: RunsService
  readonly index: RunIndexService
  private readonly lock = Semaphore.makeUnsafe(1)
  private last = -Infinity
  /** End of the running update. */
  private until = 0
  /** Start of the next look at unfinished runs. */
  private turn = 0
  /** The oldest run that was read since the process has started. */
  private oldest: RunInfo | "none" | undefined

  constructor(runs: RunsService, index: RunIndexService) {
    this.runs = runs
    this.index = index
  }

  /** True if all existing runs are indexed. */
  get isComplete(): boolean {
    return this.oldest === "none"
  }

  /** Indexes changed runs. A store that does not answer leaves the index unchanged. */
  readonly refresh: Effect.Effect<void> = Effect.suspend(() =>
    this.lock.withPermit(Effect.clockWith((clock) => {
      const now = monotonicMillis(clock)
      if (now - this.last < freshFor) return Effect.void
      this.until = now + longest
      const step = Effect.andThen(Effect.andThen(this.newest(), this.unfinished()), this.older())
      return Effect.catchCause(
        Effect.map(step, () => void (this.last = monotonicMillis(clock))),
        (cause) => Effect.logWarning("Runs could not be indexed", cause)
      )
    }))
  )

  /** Pages from the newest run on, until one has no new runs. */
  private readonly newest = Effect.fnUntraced({ self: this }, function*() {
    let behind: RunInfo | undefined
    for (;;) {
      const page = yield* this.page(behind)
      if (page === undefined) return
      this.oldest ??= page.last ?? "none"
      if (page.last === undefined || page.changed === 0) return
      behind = page.last
    }
  })

  /** Pages of runs that are older than those that were read, until there are no more. */
  private readonly older = Effect.fnUntraced({ self: this }, function*() {
    while (this.oldest !== undefined && this.oldest !== "none") {
      const page = yield* this.page(this.oldest)
      if (page === undefined) return
      this.oldest = page.last ?? "none"
    }
  })

  /**
   * Indexes a page of runs: returns the number of new ones, and the last one unless there are no more. `undefined` if
   * the time has passed before its end.
   */
  private readonly page = Effect.fnUntraced({ self: this }, function*(behind: RunInfo | undefined) {
    const runs = yield* this.runs.list({ limit: pageSize, behind })
    const changed = yield* this.changed(runs)
    if (!(yield* this.addInTime(changed))) return undefined
    return { changed: changed.length, last: runs.length < pageSize ? undefined : runs.at(-1) }
  })

  /** Indexes runs while there is time; returns whether there was for all of them. */
  private addInTime(runs: ReadonlyArray<RunInfo>): Effect.Effect<boolean> {
    let isOver = false
    const add = (run: RunInfo) =>
      Effect.clockWith((clock) => {
        isOver ||= monotonicMillis(clock) > this.until
        return isOver ? Effect.void : this.add(run)
      })
    return Effect.map(Effect.forEach(runs, add, { concurrency: 4, discard: true }), () => !isOver)
  }

  private changed(runs: ReadonlyArray<RunInfo>) {
    return Effect.map(
      this.index.summaries(runs.map(({ runId }) => runId)),
      (known) =>
        runs.filter(({ runId, status, updatedAt }) => {
          const before = known.get(runId)
          return before === undefined || before.status !== status ||
            (before.updatedAt !== updatedAt && status !== "running")
        })
    )
  }

  /** Runs that had not ended: old ones among them do not come on the newest page. Some at a time, in turns. */
  private readonly unfinished = Effect.fnUntraced({ self: this }, function*() {
    const all = yield* this.index.unfinished
    const from = this.turn < all.length ? this.turn : 0
    this.turn = from + unfinishedAtOnce
    const runs = yield* Effect.forEach(
      all.slice(from, from + unfinishedAtOnce),
      (runId) =>
        Effect.catchTag(
          Effect.asSome(this.runs.get(runId)),
          "UnknownRun",
          () => Effect.as(this.index.forget(runId), Option.none<RunInfo>())
        ),
      { concurrency: 8 }
    )
    yield* this.addInTime(yield* this.changed(runs.flatMap((run) => Option.isSome(run) ? [run.value] : [])))
  })

  /** Indexes a run by the events that it has. A run that was deleted meanwhile is not there. */
  readonly add = (run: RunInfo): Effect.Effect<void> =>
    Effect.flatMap(this.withCompensations(run), (events) => this.index.put(factsOf(run, events))).pipe(
      Effect.andThen(this.addCompensated(run)),
      Effect.catchCause((cause) => Effect.logWarning(`Run ${run.runId} could not be indexed`, cause))
    )

  /** The events of a run, with those of the runs that have compensated its writes since it has ended. */
  private readonly withCompensations = Effect.fnUntraced({ self: this }, function*(run: RunInfo) {
    const events = yield* this.eventsOf(run)
    if (!isEnded(run.status) || !events.some(hasCompensable)) return events
    const writes = yield* Effect.provideService(Compensation.writes(run.runId), Runs, this.runs)
    return [...events, ...writes.flatMap((write) => compensationOf(run, write))]
  })

  /** Indexes the run whose write another run has compensated: it has not changed itself. */
  private readonly addCompensated = Effect.fnUntraced({ self: this }, function*(run: RunInfo) {
    if (!Compensation.isName(run.agent) || !isEnded(run.status)) return
    const [first] = yield* this.eventsOf(run)
    const request = first?._tag === "RunStarted" ? Option.getOrUndefined(decodeRequest(first.input)) : undefined
    if (request === undefined) return
    const compensated = yield* Effect.option(this.runs.get(request.runId))
    if (Option.isSome(compensated)) yield* this.add(compensated.value)
  })

  private eventsOf(run: RunInfo) {
    if (isEnded(run.status) || run.status === "waiting") {
      return Effect.map(
        Stream.runCollect(follow(this.runs, run.runId)),
        (events): ReadonlyArray<AgentEvent> => events.map(({ event }) => event)
      )
    }
    const first = Stream.runHead(this.runs.events(run.runId))
    // One that is queued has no events, and may stay so.
    return Effect.map(
      Effect.timeoutOption(first, "100 millis"),
      (found): ReadonlyArray<AgentEvent> =>
        Option.match(Option.flatten(found), { onNone: () => [], onSome: ({ event }) => [event] })
    )
  }
}
