/**
 * Ends of runs by the runner: of a version that is to be stopped, that end their process repeatedly, or that the
 * present agent does not continue. Their writes are compensated like those of a cancelled run; uncompensated ones are
 * reported.
 */
import * as Effect from "effect/Effect"
import type * as AgentEvent from "@recourse/core/AgentEvent"
import type { UncompensatedWrite } from "@recourse/core/Approval"
import type { Failure } from "@recourse/core/Runs"
import { needsRunner } from "../store/unemittedEnds.ts"
import { runUnreadable } from "../store/unreadable.ts"
import type { RunHistory, StoredRun } from "../store/store.ts"
import type { Taken } from "../agent/versions.ts"

/** Number of consecutive owners without entries: of a continuing run, and of an ended one that is to be compensated. */
const idleExecutions = { on: 20, over: 3 }

/** The kind of a step that ends a run with its failure: absent if it keeps stopping. */
export const overKind = "over"

/** Decision about a run. */
export interface Fate {
  /** Its failure, if it has ended. */
  readonly over: Failure | undefined
  /** True if this is to be recorded: a compensation records steps, and the next owner has to know. */
  readonly isNew: boolean
  /** True if its agent is started: to continue it, or to compensate it. */
  readonly proceeds: boolean
}

const keepsStopping: Failure = { error: "RunKeepsStopping", code: "execution_error", userMessage: "" }
const versionStopped: Failure = { error: "VersionStopped", code: "version_stopped", userMessage: "" }

/** Returns the decision about a run with so many consecutive owners without entries. */
export const fateOf = (
  { how }: Taken,
  run: StoredRun,
  { steps, unreadable }: RunHistory,
  idle: number
): Fate => {
  // Neither a replay nor a compensation is right with a part of the log.
  if (unreadable !== undefined) {
    return { over: run.isCancelled ? undefined : runUnreadable, isNew: false, proceeds: false }
  }
  const mark = steps.find(({ kind }) => kind === overKind)
  const isMarked = mark !== undefined
  const over = run.isCancelled
    ? undefined
    : how === "stop"
    ? versionStopped
    : isMarked
    ? (mark.value as unknown as Failure | null) ?? keepsStopping
    : idle > idleExecutions.on
    ? keepsStopping
    : undefined
  const isNew = over === keepsStopping && !isMarked
  const mayRecord = isNew || idle <= (isMarked ? idleExecutions.over : idleExecutions.on)
  return { over, isNew, proceeds: mayRecord && (over === undefined || needsRunner(run, steps.length > 0)) }
}

/** Emits the uncompensated writes that stay. */
export const reportAbandoned = (
  run: StoredRun,
  left: ReadonlyArray<UncompensatedWrite>,
  at: number,
  because: "failed" | "no_tool",
  receive: (event: AgentEvent.AgentEvent) => Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.forEach(left, ({ arguments: args, callId, tool }) => {
    const event = {
      _tag: "ToolCompensated",
      runId: run.runId,
      agentRunId: run.runId,
      path: [run.agent],
      sequence: 0,
      at,
      callId,
      tool,
      outcome: "not_undone",
      because
    } as const
    return Effect.andThen(
      receive(event),
      Effect.annotateLogs(Effect.logError("A write of a durable run is not compensated: a person has to look"), {
        run_id: run.runId,
        tool,
        call_id: callId,
        arguments: JSON.stringify(args)
      })
    )
  }, { discard: true })
