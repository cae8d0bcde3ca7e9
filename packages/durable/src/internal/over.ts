/**
 * Runs that are over though their agent has not ended them: of a version that is to be stopped, that end their process again and again, or that the agent of today
 * does not go on with. What they have done is
 * undone, as of a run that is cancelled; what is not undone is told.
 */
import * as Effect from "effect/Effect"
import type * as AgentEvent from "@recourse/core/AgentEvent"
import type { LeftToUndo } from "@recourse/core/Approval"
import type { Failure } from "@recourse/core/Runs"
import { needsRunner } from "./ended.ts"
import type { Loaded, StoredRun } from "./store.ts"
import type { Taken } from "./versions.ts"

/** How many holders in a row may record nothing: of a run that goes on, and of one that is over and is to be undone. */
const idleLives = { on: 20, over: 3 }

/** The kind of a step that says that a run is over, and what it fails with: nothing where it keeps stopping. */
export const overKind = "over"

/** What is made of a run. */
export interface Fate {
  /** What it fails with, if it is over. */
  readonly over: Failure | undefined
  /** Whether this is to be recorded: what undoes it records steps, and the next holder has to know. */
  readonly isNew: boolean
  /** Whether its agent is begun: to go on with it, or to undo it. */
  readonly proceeds: boolean
}

const keepsStopping: Failure = { error: "RunKeepsStopping", code: "execution_error", userMessage: "" }
const versionStopped: Failure = { error: "VersionStopped", code: "version_stopped", userMessage: "" }

/** What is made of a run that so many holders in a row have recorded nothing of. */
export const fateOf = (
  { how }: Taken,
  run: StoredRun,
  { steps }: Loaded,
  idle: number
): Fate => {
  const mark = steps.find(({ kind }) => kind === overKind)
  const isMarked = mark !== undefined
  const over = run.isCancelled
    ? undefined
    : how === "stop"
    ? versionStopped
    : isMarked
    ? (mark.value as unknown as Failure | null) ?? keepsStopping
    : idle > idleLives.on
    ? keepsStopping
    : undefined
  const isNew = over === keepsStopping && !isMarked
  const mayRecord = isNew || idle <= (isMarked ? idleLives.over : idleLives.on)
  return { over, isNew, proceeds: mayRecord && (over === undefined || needsRunner(run, steps.length > 0)) }
}

/** Tells what nobody has undone, and nobody will. */
export const tellLeft = (
  run: StoredRun,
  left: ReadonlyArray<LeftToUndo>,
  at: number,
  because: "failed" | "no_tool",
  hear: (event: AgentEvent.AgentEvent) => Effect.Effect<void>
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
      hear(event),
      Effect.annotateLogs(Effect.logError("A write of a durable run is not undone: a person has to look"), {
        run_id: run.runId,
        tool,
        call_id: callId,
        arguments: JSON.stringify(args)
      })
    )
  }, { discard: true })
