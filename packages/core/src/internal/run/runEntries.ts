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

/**
 * An attempt of a tool call that reached the tool's executor.
 *
 * @category models
 * @since 0.2.0
 */
export interface ExecutedCall {
  readonly tool: string
  readonly callId: string
  /** The run of the nested agent that made the call; left out for calls of the outermost agent. */
  readonly agentRunId?: string
  readonly attempt: number
  /** The real arguments in JSON text: the model's own, or a fixer's. */
  readonly arguments: string
  /** The fixer whose arguments they are, if they are not the model's own. */
  readonly fixedBy?: string
  /**
   * `"unknown"`: a write failed, and may have happened anyway. `"interrupted"`: it may have happened too. `"running"`
   * only if the run ended before the attempt did, or waits for an agent that is the tool.
   */
  readonly outcome: "success" | "failure" | "unknown" | "interrupted" | "running"
}

/**
 * A write whose compensation was due, and the outcome.
 *
 * @category models
 * @since 0.2.0
 */
export interface CompensatedCall {
  readonly tool: string
  /** The call, with the calls of agents around it: `call_1/pay_1`. */
  readonly callId: string
  /**
   * - `"undone"`: its tool's `compensate` succeeded.
   * - `"not_happened"`: it had not answered, and `reconcile` has found no effect.
   * - `"not_undone"`: a person has to look; `because` has the reason, like in `NotCompensated`.
   */
  readonly outcome: "undone" | "not_happened" | "not_undone"
  readonly because?: NotCompensated["because"]
  /** The tag of the error of its `compensate` or `reconcile`. */
  readonly error?: string
}

/**
 * Record of a run until its end of any kind.
 *
 * @category models
 * @since 0.2.0
 */
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
  /** The writes whose compensation was due, in the order of the attempts; absent if there were none. */
  readonly compensations?: ReadonlyArray<CompensatedCall>
  /** @internal Data for a resumption of the run, if it can be resumed. */
  readonly resumable?: SnapshotSource
}

/** @internal Data for a resumption of a run, and the parts that its snapshot is bound to. */
export interface SnapshotSource {
  readonly checkpoint: () => Checkpoint
  readonly parts: () => Parts
}

/**
 * Exit of a run, and its record.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunReport<out A, out E> extends RunRecord {
  readonly exit: Exit.Exit<A, E>
}

/**
 * The annotation under which the cause of a failed run carries its {@link RunRecord}.
 *
 * @category services
 * @since 0.2.0
 */
export class Annotation extends Context.Service<Annotation, RunRecord>()("@recourse/core/RunRecord") {}

/**
 * Returns the record in the cause of a failed run. The outermost agent's, because it is the last to see the failure.
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
 *
 * @category getters
 * @since 0.2.0
 */
export const fromCause = <E>(cause: Cause.Cause<E>): Option.Option<RunRecord> =>
  Context.getOption(Cause.annotations(cause), Annotation)

/** Messages of a run, and their compacted replacement. */
export interface Said {
  readonly transcript: Prompt.Prompt
  readonly compacted?: Compacted | undefined
  readonly replacedInput?: Prompt.Prompt | undefined
}

/** Messages of agents without a conversation. */
export const noRunMessages: Said = { transcript: Prompt.empty }

/**
 * An empty record, for agents without a conversation.
 *
 * @category constants
 * @since 0.2.0
 */
export const emptyTranscript: Prompt.Prompt = noRunMessages.transcript
