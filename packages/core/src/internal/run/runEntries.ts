/** The record of a run: transcript, usage, executed calls; annotation of a failed run's cause. */
import type { RunUsage } from "../../RunUsage.ts"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import * as Prompt from "effect/ai/Prompt"
import type { NotCompensated } from "../../ToolError.ts"
import type { Parts } from "../approval/compareParts.ts"
import type { Checkpoint, Compacted } from "../approval/snapshot.ts"
export type { RunUsage } from "../../RunUsage.ts"
export type { Compacted } from "../approval/snapshot.ts"

/** An attempt of a tool call that reached the tool's executor. */
export interface ExecutedCall {
  readonly tool: string
  readonly callId: string
  /** The run of the nested agent that made the call; left out for calls of the outermost agent. */
  readonly agentRunId?: string
  readonly attempt: number
  /** The arguments that were really used, as JSON text: the model's own, or a fixer's. */
  readonly arguments: string
  /** The fixer whose arguments they are, if they are not the model's own. */
  readonly fixedBy?: string
  /**
   * `"unknown"`: a write failed, and may have happened all the same. `"interrupted"`: it may have happened, too. `"running"` only
   * if the run ended before the attempt did, or waits for what an agent that is the tool waits for.
   */
  readonly outcome: "success" | "failure" | "unknown" | "interrupted" | "running"
}

/** A write that was to be undone, and what became of it. */
export interface CompensatedCall {
  readonly tool: string
  /** The call, with the calls of agents around it: `call_1/pay_1`. */
  readonly callId: string
  /**
   * - `"undone"`: its tool's `compensate` succeeded.
   * - `"not_happened"`: it had given no answer, and `reconcile` has found that nothing was done.
   * - `"not_undone"`: a person has to look; `because` says why, as `NotCompensated` does.
   */
  readonly outcome: "undone" | "not_happened" | "not_undone"
  readonly because?: NotCompensated["because"]
  /** The tag of what its `compensate` or `reconcile` failed with. */
  readonly error?: string
}

/** What a run did until it ended, however it ended. */
export interface RunRecord {
  readonly runId: string
  readonly agent: string
  /** Everything that was said, each tool call with exactly one result; a prompt that can be continued. */
  readonly transcript: Prompt.Prompt
  /** Replacement of the first `count` messages of the transcript in the model's prompt, if the run was compacted. */
  readonly compacted?: Compacted
  /** The conversation by which the input guard replaced the run's own, if it did. */
  readonly replacedInput?: Prompt.Prompt
  /** Names of the untrusted tools whose words the run has read. Empty: the conversation is not tainted. */
  readonly taintedBy: ReadonlyArray<string>
  readonly usage: RunUsage
  readonly executed: ReadonlyArray<ExecutedCall>
  /** The writes that were to be undone, in the order in which that was tried; left out where there were none. */
  readonly compensations?: ReadonlyArray<CompensatedCall>
  /** @internal What resuming the run needs, where it can be resumed. */
  readonly resumable?: SnapshotSource
}

/** @internal What resuming a run needs, and what its snapshot is bound to. */
export interface SnapshotSource {
  readonly checkpoint: () => Checkpoint
  readonly parts: () => Parts
}

/** How a run ended, and what it did until then. */
export interface RunReport<out A, out E> extends RunRecord {
  readonly exit: Exit.Exit<A, E>
}

/** The annotation under which the cause of a failed run carries its {@link RunRecord}. */
export class Annotation extends Context.Service<Annotation, RunRecord>()("@recourse/core/RunRecord") {}

/**
 * The record that the cause of a failed run carries. The outermost agent's, as it is the last to see the failure.
 *
 * **Example** (What did the run do before it failed?)
 *
 * ```ts
 * import { Effect, Option } from "effect"
 * import { Agent, RunRecord } from "@recourse/core"
 *
 * const failing = Agent.fromFunction("failing", (_: string) => Effect.fail("no" as const))
 *
 * await Effect.runPromise(
 *   failing.run("x").pipe(
 *     Effect.catchCause((cause) => Effect.succeed(Option.map(RunRecord.fromCause(cause), (record) => record.agent)))
 *   )
 * ) // => Option.some("failing")
 * ```
 */
export const fromCause = <E>(cause: Cause.Cause<E>): Option.Option<RunRecord> =>
  Context.getOption(Cause.annotations(cause), Annotation)

/** What a run has said, and what was read in place of it. */
export interface Said {
  readonly transcript: Prompt.Prompt
  readonly compacted?: Compacted | undefined
  readonly replacedInput?: Prompt.Prompt | undefined
}

/** What agents that hold no conversation have said. */
export const noRunMessages: Said = { transcript: Prompt.empty }

/** A record of nothing, for agents that hold no conversation. */
export const emptyTranscript: Prompt.Prompt = noRunMessages.transcript
