/** Errors of conversations. None names an owner. */
import * as Schema from "effect/Schema"

/**
 * The owner has no thread of this id.
 *
 * @category errors
 * @since 0.2.0
 */
export class ThreadNotFound extends Schema.TaggedError<ThreadNotFound>()("ThreadNotFound", {
  thread: Schema.String
}) {
  override get message(): string {
    return `There is no thread "${this.thread}"`
  }
}

/**
 * Another entry was appended to the thread since it was read. No entry was appended now: read it again.
 *
 * @category errors
 * @since 0.2.0
 */
export class VersionConflict extends Schema.TaggedError<VersionConflict>()("VersionConflict", {
  thread: Schema.String,
  expected: Schema.Int,
  actual: Schema.Int
}) {
  override get message(): string {
    return `Thread "${this.thread}" is at version ${this.actual}, not ${this.expected}`
  }
}

/**
 * Another run has claimed the thread. No entry was appended: try again when that run has ended, or at `freeAt` if its
 * process has died.
 *
 * @category errors
 * @since 0.2.0
 */
export class ThreadBusy extends Schema.TaggedError<ThreadBusy>()("ThreadBusy", {
  thread: Schema.String,
  /** When the lease of that run ends unless it is renewed, in milliseconds since the epoch. Left out if that is not known. */
  freeAt: Schema.optionalKey(Schema.Finite)
}) {
  override get message(): string {
    const until = this.freeAt === undefined
      ? ""
      : `, or at ${new Date(this.freeAt).toISOString()} if its process has died`
    return `A run of thread "${this.thread}" is active or waits for a decision. Try again when it has ended${until}`
  }
}

/**
 * The turn has already ended: `end` appends its messages once. No entry was appended now.
 *
 * @category errors
 * @since 0.2.0
 */
export class TurnOver extends Schema.TaggedError<TurnOver>()("TurnOver", {
  thread: Schema.String
}) {
  override get message(): string {
    return `The turn of thread "${this.thread}" has ended before, and a turn ends once. Begin the next turn with \`begin\``
  }
}

/**
 * The store failed. The reason is for operators.
 *
 * @category errors
 * @since 0.2.0
 */
export class ConversationError extends Schema.TaggedError<ConversationError>()("ConversationError", {
  operation: Schema.Literals(["create", "read", "list", "rename", "delete", "append", "renew", "purge"]),
  reason: Schema.Defect(),
  /** True if the same operation may succeed later: a connection was lost, for example. */
  isTransient: Schema.optionalKey(Schema.Boolean)
}) {
  override get message(): string {
    return `The conversation store failed (${this.operation})`
  }
}
