/** Outcomes of a run that may pause, and the errors of resuming it. */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import { OwnCode } from "../foundation/ownCode.ts"
import { Issue } from "../../ToolError.ts"
import type { PendingCall } from "./snapshot.ts"
import { Snapshot } from "./snapshot.ts"

/** A run that answered. */
export class Completed<out Out> extends Data.TaggedClass("Completed")<{ readonly output: unknown }> {
  declare readonly output: Out
}

/** A run that waits. */
export class Paused extends Data.TaggedClass("Paused")<{
  readonly snapshot: Snapshot
  readonly pending: ReadonlyArray<PendingCall>
}> {}

/** How a run that can pause ended. */
export type Outcome<Out> = Completed<Out> | Paused

/** What `agent.run` fails with when the run waits; `agent.start` answers `Paused` in its place. */
export class ApprovalRequired extends Schema.TaggedError<ApprovalRequired>()("ApprovalRequired", {
  agent: Schema.String,
  snapshot: Snapshot
}) {
  /** @internal */
  get [OwnCode](): "approval_required" {
    return "approval_required"
  }

  override get message(): string {
    const calls = this.snapshot.round?.pending.length ?? 0
    return `Agent "${this.agent}" waits for the approval of ${calls} call${calls === 1 ? "" : "s"}`
  }
}

/**
 * A snapshot cannot be resumed; nothing was run.
 *
 * `tampered`: it is not a snapshot, not what was signed, or signed with another key. `version`: another version of the library wrote it.
 * `agent`: another agent's. `tools_changed`: the agent's tools are not what they were. `used`: it was resumed before.
 * `abandoned`: it was resumed before by a process that was cut off, and a call that is to be approved is a write without an
 * idempotency key, which may have been done: find out, and decide with `reject` or `respond`.
 */
export class SnapshotRefused extends Schema.TaggedError<SnapshotRefused>()("SnapshotRefused", {
  agent: Schema.String,
  reason: Schema.Literals(["tampered", "version", "agent", "tools_changed", "used", "abandoned"])
}) {
  override get message(): string {
    return `The snapshot cannot be resumed by agent "${this.agent}": ${this.reason}`
  }
}

/**
 * A decision does not fit the snapshot; nothing was run.
 *
 * `malformed`: it is not a decision, or what holds it is not a list; `issues` says where and what was expected, never what was
 * sent. `unknown_call`: no such call waits. `other_arguments`: it was made for other arguments than those that wait. `twice`:
 * there are two decisions about the call. `invalid_result`: what it answers does not fit the tool's `success` schema.
 */
export class DecisionRefused extends Schema.TaggedError<DecisionRefused>()("DecisionRefused", {
  /** The call that it is about, as far as it names one. */
  callId: Schema.optionalKey(Schema.String),
  reason: Schema.Literals(["malformed", "unknown_call", "other_arguments", "twice", "invalid_result"]),
  issues: Schema.optionalKey(Schema.Array(Issue))
}) {
  override get message(): string {
    return `The decision${this.callId === undefined ? "" : ` about call ${this.callId}`} cannot be used: ${this.reason}`
  }
}
