/** Outcomes of a run that may pause, and the errors of resuming it. */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import { OwnCode } from "../foundation/ownCode.ts"
import { Issue } from "../../ToolError.ts"
import { PartState } from "./definitions.ts"
import { type PendingCall, Snapshot } from "./snapshot.ts"

/**
 * A run that answered.
 *
 * @category models
 * @since 0.2.0
 */
export class Completed<out Out> extends Data.TaggedClass("Completed")<{ readonly output: unknown }> {
  declare readonly output: Out
}

/**
 * A run that waits.
 *
 * **Example** (The tools that wait)
 *
 * ```ts
 * import { Effect, Redacted, Schema } from "effect"
 * import { Agent, Approval, Recovery, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Refund = Tool.make("refund", {
 *   parameters: Schema.Struct({ euros: Schema.Number }),
 *   success: Schema.String,
 *   effects: "write",
 *   needsApproval: true,
 *   execute: ({ euros }) => Effect.succeed(`${euros} euros are on their way`)
 * })
 * const clerk = Agent.make("clerk", { tools: [Refund], defaults: { onError: Recovery.standard } })
 *
 * const program = clerk.start("The cup is broken").pipe(
 *   Effect.map((outcome) => outcome._tag === "Paused" ? outcome.pending.map(({ tool }) => tool) : []),
 *   Effect.provide([
 *     Approval.layerKey(Redacted.make("a key of the service: 32 bytes or more")),
 *     ScriptedModel.layer([ScriptedModel.call("refund", { euros: 20 })])
 *   ])
 * )
 *
 * await Effect.runPromise(program) // => ["refund"]
 * ```
 *
 * @category models
 * @since 0.2.0
 */
export class Paused extends Data.TaggedClass("Paused")<{
  readonly snapshot: Snapshot
  readonly pending: ReadonlyArray<PendingCall>
}> {}

/**
 * End of a run that can pause.
 *
 * @category models
 * @since 0.2.0
 */
export type Outcome<Out> = Completed<Out> | Paused

/**
 * Error of `agent.run` when the run waits; `agent.start` answers `Paused` instead.
 *
 * @category errors
 * @since 0.2.0
 */
export class ApprovalRequired extends Schema.TaggedError<ApprovalRequired>()("ApprovalRequired", {
  agent: Schema.String,
  snapshot: Snapshot
}) {
  /** @internal */
  get [OwnCode](): "approval_required" {
    return "approval_required"
  }

  /** The calls that wait for a decision, those of agents within this one with them. */
  get pending(): ReadonlyArray<PendingCall> {
    return this.snapshot.round?.pending ?? []
  }

  override get message(): string {
    const calls = this.pending.length
    return `Agent "${this.agent}" waits for the approval of ${calls} call${calls === 1 ? "" : "s"}`
  }
}

/** Reasons of refused snapshots, with advice. */
const refusals = {
  tampered:
    "it is not the signed one, or was signed with another key. Resume with the key that `Approval.layerKey` had " +
    "when the run paused; an older key is listed under `earlier`",
  version: "another version of the library wrote it. Resume with that version, or start the run again",
  agent: "it is another agent's. Resume with the agent that paused",
  tools_changed:
    "the agent's tools have changed since its pause. Resume with the program that paused, or start the run again",
  claimed: "another process resumes it. Use the outcome of that resumption",
  used: "it was resumed before, and a snapshot is resumed once. Use the outcome of that resumption",
  abandoned:
    "it was resumed before by a process that was cut off, and a write without an idempotency key may have been done. " +
    "Find out, and decide with `Approval.reject` or `Approval.respond`"
}

/** Text for a changed part of an agent that a snapshot is about. */
const differenceText = ({ differs, name, part, role, state }: PartState): string =>
  `${part} "${name}" (${role}) ${
    state === "missing" ? "is missing" : part === "agent" ? "has another place" : `differs in: ${differs.join(", ")}`
  }`

/** Reasons of refused decisions, with advice. */
const misfits = {
  malformed: "it is not a decision. Make it with `Approval.approve`, `edit`, `reject`, `respond` or `fail`",
  unknown_call: "no such call waits. Decide about the `pending` calls of this snapshot",
  other_arguments:
    "it was made for other arguments than those that wait. Show the `pending` call again, and decide about that",
  twice: "there are two decisions about the call. Give one",
  invalid_result: "its result does not fit the tool's `success` schema",
  client_tool: "the page executes the call. Decide with `Approval.respond`, `fail` or `reject`",
  no_client_tool: "a person decides about the call. Decide with `Approval.approve`, `edit`, `reject` or `respond`"
}

/**
 * A snapshot cannot be resumed; no call was run.
 *
 * `tampered`: it is not a snapshot, not the signed one, or signed with another key. `version`: another version of the
 * library wrote it. `agent`: another agent's. `tools_changed`: a tool with pending or started calls, or with a waiting
 * agent, has changed, or a skill or agent of the run is missing; `differences` has them. For a snapshot before version
 * 4: any tool. `used`: it was resumed before. `claimed`: another process resumes it, or died while it did; in that case
 * it can be resumed from `freeAt` on. `abandoned`: an interrupted process has resumed it, and an approved call is a
 * write without an idempotency key, which may have been done: find out, and decide with `reject` or `respond`.
 *
 * @category errors
 * @since 0.2.0
 */
export class SnapshotRefused extends Schema.TaggedError<SnapshotRefused>()("SnapshotRefused", {
  agent: Schema.String,
  reason: Schema.Literals(["tampered", "version", "agent", "tools_changed", "claimed", "used", "abandoned"]),
  /** End of the other process's claim unless it is renewed, in milliseconds since the epoch: for `claimed`. */
  freeAt: Schema.optionalKey(Schema.Finite),
  /** Known differences: for `tools_changed`. */
  differences: Schema.optionalKey(Schema.Array(PartState))
}) {
  override get message(): string {
    const { differences = [] } = this
    const why = differences.length === 0
      ? refusals[this.reason]
      : `${differences.map(differenceText).join("; ")}. Resume with the program that paused, or start the run again`
    const until = this.freeAt === undefined
      ? ""
      : `, or resume it at ${new Date(this.freeAt).toISOString()} if that process has died`
    return `The snapshot cannot be resumed by agent "${this.agent}": ${why}${until}`
  }
}

/**
 * A decision does not fit the snapshot. No call was run, except those before the answer (`invalid_result`) to a call
 * made by a tool.
 *
 * `malformed`: it is not a decision, or its container is not a list; `issues` has the path and the expectation, never
 * the value. `unknown_call`: no such call is pending. `other_arguments`: it was made for other arguments than the
 * pending ones. `twice`: there are two decisions about the call. `invalid_result`: its answer does not fit the tool's
 * `success` schema. `client_tool`: it approves or edits a call that the page executes. `no_client_tool`: it is the
 * failure of another call.
 *
 * @category errors
 * @since 0.2.0
 */
export class DecisionRefused extends Schema.TaggedError<DecisionRefused>()("DecisionRefused", {
  /** The call of the decision, if it names one. */
  callId: Schema.optionalKey(Schema.String),
  reason: Schema.Literals([
    "malformed",
    "unknown_call",
    "other_arguments",
    "twice",
    "invalid_result",
    "client_tool",
    "no_client_tool"
  ]),
  issues: Schema.optionalKey(Schema.Array(Issue))
}) {
  override get message(): string {
    return `The decision${this.callId === undefined ? "" : ` about call ${this.callId}`} cannot be used: ${
      misfits[this.reason]
    }${(this.issues ?? []).slice(0, 3).map(({ expected, path }) => `; ${[...path, expected].join(".")}`).join("")}`
  }
}
