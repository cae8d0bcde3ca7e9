/**
 * Write log: stores the start and the end of each write of a run during its execution, for runs without a journal. A
 * chat's next turn reads the writes of a turn whose process died from it.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Prompt from "effect/ai/Prompt"

/** A write within a run. */
export interface LoggedWrite {
  readonly runId: string
  /** The id of the model's call that the write is part of. */
  readonly callId: string
  /** The path of the write within its run. */
  readonly write: string
}

/** A write that starts. */
export interface StartedWrite extends LoggedWrite {
  readonly tool: string
  /** Names of the agents from the outermost to the one that made the call. */
  readonly path: ReadonlyArray<string>
  readonly arguments: unknown
  /** The message with the model's call. */
  readonly message: () => Prompt.Message
}

/** Known end of a write. */
export type WriteOutcome = "completed" | "not_done" | "unknown"

/** Stores the start and the end of writes. */
export interface WriteLog {
  /** Stores that a write starts. Dies with `WriteNotStored` if the store fails: then the write must not start. */
  readonly start: (write: StartedWrite) => Effect.Effect<void>
  /** Stores that a write has ended. A store that fails is logged. */
  readonly end: (write: LoggedWrite, outcome: WriteOutcome) => Effect.Effect<void>
  /** Stores the result of the model's call, if a write of it has started. */
  readonly answer: (
    call: Pick<LoggedWrite, "runId" | "callId">,
    outcome: WriteOutcome,
    result: () => Prompt.Message
  ) => Effect.Effect<void>
}

/** The log of the run that starts here. None by default. */
export const CurrentWriteLog: Context.Reference<WriteLog | undefined> = Context.Reference<WriteLog | undefined>(
  "@recourse/core/CurrentWriteLog",
  { defaultValue: () => undefined }
)

/**
 * The start of a write could not be stored, and it did not start. A defect, because no recovery may see it.
 *
 * @category errors
 * @since 0.2.0
 */
export class WriteNotStored<out E = unknown> extends Error {
  override readonly name = "WriteNotStored"
  readonly reason: E

  constructor(reason: E) {
    super("The start of a write could not be stored in its thread, and the write did not start", { cause: reason })
    this.reason = reason
  }
}
