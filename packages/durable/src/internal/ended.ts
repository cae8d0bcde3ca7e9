/** Ends of runs that no agent told: of one that was cancelled while it waited, or that was not begun again. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import type * as AgentEvent from "@recourse/core/AgentEvent"
import { leftToUndo } from "@recourse/core/Approval"
import * as EventJson from "@recourse/core/EventJson"
import * as RunUsage from "@recourse/core/RunUsage"
import type { Failure } from "@recourse/core/Runs"
import type { Step, StoredRun } from "./store.ts"

/** Statuses of runs that have ended. */
export const ended: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"])

const decodePrompt = Schema.decodeUnknownOption(Schema.toCodecJson(Prompt.Prompt))

/** The last event of a run: with what its snapshot says, if it waited. */
export const finishOf = (run: StoredRun, at: number, failure?: Failure): AgentEvent.RunFinished => {
  const { transcript, usage } = (run.snapshot ?? {}) as {
    readonly transcript?: unknown
    readonly usage?: RunUsage.RunUsage
  }
  return {
    _tag: "RunFinished",
    runId: run.runId,
    agentRunId: run.runId,
    path: [run.agent],
    sequence: 0,
    at,
    ...(failure === undefined
      ? { outcome: "interrupted" }
      : { outcome: "failure", error: failure.error, code: failure.code, userMessage: failure.userMessage }),
    usage: { ...RunUsage.none, ...usage },
    transcript: Option.getOrElse(decodePrompt(transcript), () => Prompt.empty)
  }
}

/**
 * Whether a run that is cancelled while nobody holds it may have to be undone, which only its agent can: by what it knew when it came to wait, or as it
 * has recorded something since.
 */
export const mayUndo = ({ snapshot }: StoredRun, hasSteps: boolean): boolean =>
  hasSteps || leftToUndo({ snapshot }).length > 0

/** The last step of a run that is cancelled while nobody holds it. */
export const cancelledStep = (run: StoredRun, at: number, position: number, firstEvent: number): Step => ({
  runId: run.runId,
  epoch: run.epoch,
  leg: run.leg,
  position,
  kind: "end",
  key: "cancelled",
  value: "cancelled",
  elapsed: run.ran,
  firstEvent,
  events: [EventJson.encode(finishOf(run, at))]
})
