/** Observation of a program: its parts, and everything that was recorded of them. */
import type { Exit } from "effect"
import type { Prompt } from "effect/ai"
import type { AgentEvent, Audit, RunRecord, Tool } from "@recourse/core"
import type * as ScriptedModel from "../../ScriptedModel.ts"
import type { Pause } from "../faults/approver.ts"
import type * as VirtualTime from "../time/virtualTime.ts"
import type { Program } from "./program.ts"
import type { Entry } from "./surroundings.ts"
import type { CompensatedEffect, SideEffect } from "./world.ts"

/**
 * One run of the conversation; of a chat, a message or a decision.
 *
 * @category models
 * @since 0.2.0
 */
export interface Part {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly record: RunRecord.RunRecord | undefined
  readonly elapsed: number
  readonly waited: number
  readonly stopped: VirtualTime.Ended<unknown, unknown>["stopped"]
  readonly fibers: number
  readonly operations: number
  /** Start of its events, requests and effects. */
  readonly events: readonly [from: number, to: number]
  readonly requests: readonly [from: number, to: number]
  /** True if it resumes the pause of the part before, which was interrupted during its resumption. */
  readonly resumed?: true | undefined
  /** Its content in a chat, and whether a run waited in the thread before it, if no other event is simultaneous. */
  readonly turn?:
    | { readonly says: "message" | "decision"; readonly waiting: boolean | undefined }
    | undefined
}

/**
 * A question, and the number of events and requests before the run resumed.
 *
 * @category models
 * @since 0.2.0
 */
export interface Waited extends Omit<Pause, "snapshot">, Partial<Pick<Pause, "snapshot">> {
  readonly after: number
  readonly requests: number
}

/**
 * Everything that can be observed of a program.
 *
 * @category models
 * @since 0.2.0
 */
export interface Observed {
  readonly program: Program
  readonly tools: ReadonlyArray<Tool.Any>
  readonly parts: ReadonlyArray<Part>
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  readonly requests: ReadonlyArray<ScriptedModel.Request>
  readonly sideEffects: ReadonlyArray<SideEffect>
  /** Compensated calls, including failed compensations. */
  readonly compensations: ReadonlyArray<CompensatedEffect>
  readonly audit: ReadonlyArray<Audit.AuditRecord>
  readonly entries: ReadonlyArray<Entry>
  /** Number of unanswered claims of the store of resumptions: a run ends with a defect then. */
  readonly unansweredClaims: number
  readonly pauses: ReadonlyArray<Waited>
  /** Names of the spans that were not ended. */
  readonly open: ReadonlyArray<string>
  readonly interrupted: boolean
  /** The model's prompt of a chat in another turn; a failure, if no other can start. */
  readonly left?: Exit.Exit<Prompt.Prompt, unknown> | undefined
}
