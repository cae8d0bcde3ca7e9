/** Runs of owners and of their threads. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type RunInfo, type RunsService, UnknownRun } from "@recourse/core/Runs"
import type { Question } from "./questions.ts"
import { threadPrefix } from "./runIds.ts"
import { follow } from "./segments.ts"

/** Reads runs by their owners. */
export class OwnedRuns {
  private readonly runs: RunsService

  constructor(runs: RunsService) {
    this.runs = runs
  }

  /** A run of an owner; another owner's run looks like a missing one. */
  get(runId: string, owner: string | undefined) {
    return Effect.flatMap(
      this.runs.get(runId),
      (run) => run.owner === owner ? Effect.succeed(run) : Effect.fail(new UnknownRun({ runId }))
    )
  }

  /** Returns the threads of an owner with a run that waits for people. */
  waiting(owner: string, threads: ReadonlyArray<string>) {
    return Effect.gen({ self: this }, function*() {
      const runs = yield* this.runs.list({ owner, status: "waiting", limit: 1000 })
      if (runs.length === 0) return new Set<string>()
      const prefixes = yield* Effect.forEach(threads, (thread) => threadPrefix(owner, thread))
      return new Set(threads.filter((_, index) => runs.some(({ runId }) => runId.startsWith(prefixes[index]!))))
    })
  }

  /**
   * Returns the running run of a thread, if there is one: one that waits for its turn, or for its compensation, counts
   * too.
   */
  running(owner: string, thread: string) {
    return Effect.flatMap(
      this.current(owner, thread, "running"),
      (run) => run === undefined ? this.current(owner, thread, "queued") : Effect.succeed(run)
    )
  }

  /** The newest run of a thread, or the newest one with a status. */
  current(owner: string, thread: string, status?: RunInfo["status"]) {
    return Effect.flatMap(threadPrefix(owner, thread), (prefix) => this.newest(owner, prefix, status))
  }

  private newest(owner: string, prefix: string, status: RunInfo["status"] | undefined) {
    return Effect.map(this.runs.list({ owner, status, idPrefix: prefix, limit: 1 }), ([newest]) => newest)
  }

  /** The runs of a thread, the oldest first. */
  ofThread(owner: string, thread: string) {
    return Effect.flatMap(threadPrefix(owner, thread), (prefix) =>
      Effect.map(
        this.runs.list({ owner, idPrefix: prefix, limit: 1000 }),
        (found): ReadonlyArray<RunInfo> => found.toReversed()
      ))
  }

  /** Number of a waiting run's pauses. */
  pauses(runId: string) {
    return Effect.map(
      Stream.runCollect(follow(this.runs, runId)),
      (events) => events.filter(({ event }) => event._tag === "RunFinished").length
    )
  }

  /** The calls of client tools that a run waits for, under the ids by which pages know them. None of a run that does not wait. */
  clientCalls(run: RunInfo) {
    return Effect.gen({ self: this }, function*() {
      const { pending, runId, status } = run
      const calls = pending.filter(({ code }) => code === "client_tool")
      if (status !== "waiting" || calls.length === 0) return new Map<string, Question>()
      const segment = (yield* this.pauses(runId)) - 1
      return new Map(calls.flatMap(({ callId }) => {
        const question: Question = { runId, segment, callId }
        return [[callId, question], [`${runId}/${callId}`, question]]
      }))
    })
  }
}
