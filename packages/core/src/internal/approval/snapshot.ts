/** A paused run as data, and the record of snapshots that were resumed. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import { Pending } from "../../EventParts.ts"
import { Definitions } from "./definitions.ts"

/**
 * A call that waits. Times are milliseconds since the epoch.
 *
 * @category schemas
 * @since 0.2.0
 */
export const PendingCall: typeof Pending = Pending

/**
 * A call that waits.
 *
 * @category models
 * @since 0.2.0
 */
export interface PendingCall extends Schema.Schema.Type<typeof PendingCall> {}

/**
 * The time at which an approval that is requested now expires. "Never" is a number too, because JSON has no infinity.
 */
export const approvalExpiry = (now: number, timeToLive: number): number => Math.min(now + timeToLive, 8.64e15)

/**
 * The version of snapshots that this library writes. It reads earlier ones, too.
 *
 * @category constants
 * @since 0.2.0
 */
export const version = 4

/** The versions of snapshots that this library reads. */
export const versions = [1, 2, 3, version] as const

const Count = Schema.Record(Schema.String, Schema.Number)

/** A call as the model made it. */
const ModelCall = Schema.Struct({ id: Schema.String, name: Schema.String, params: Schema.Json })

/** A decision about a call within another one. */
const DecidedWithin = Schema.Struct({
  identity: Schema.String,
  arguments: Schema.Record(Schema.String, Schema.Json),
  fixedBy: Schema.optionalKey(Schema.String),
  response: Schema.optionalKey(Schema.Struct({ result: Schema.Json })),
  /** The failure that the page gave for a call of a client tool. */
  failed: Schema.optionalKey(Schema.Struct({ error: Schema.Json, isLate: Schema.Boolean }))
})

/** A started write within a pending call. */
export const CallBeforePause = Schema.Struct({
  /** Identifies it among all inner calls. */
  identity: Schema.String,
  tool: Schema.String,
  /** Its outcome, which is not repeated. Absent: the tool declares that it was not done; it is made again. */
  outcome: Schema.optionalKey(Schema.Json)
})

/** A started write within a pending call. */
export type CallBeforePause = typeof CallBeforePause.Type

const nestedRun = Schema.Struct({
  callId: Schema.String,
  /** The exact arguments of the tool. */
  arguments: Schema.Record(Schema.String, Schema.Json),
  /** The fixer whose arguments they are, if they are not the model's own. */
  fixedBy: Schema.optionalKey(Schema.String),
  /** The `Snapshot` of the agent that is the tool. */
  snapshot: Schema.Json,
  /** The agent has done something, or may have, before it came to wait. */
  doneInPart: Schema.optionalKey(Schema.Literal(true)),
  /** Decisions about calls that the recovery around the agent makes. */
  approvals: Schema.optionalKey(Schema.Array(DecidedWithin)),
  /** Started writes of that recovery. */
  begun: Schema.optionalKey(Schema.Array(CallBeforePause))
})

type NestedRunSchemaType = typeof nestedRun

/**
 * Schema of a call of a tool that is an agent, which waits.
 *
 * @category models
 * @since 0.2.0
 */
export interface NestedRunSchema extends NestedRunSchemaType {}

/**
 * A waiting call of a tool that is an agent. Its pending calls are among those of the run.
 *
 * @category schemas
 * @since 0.2.0
 */
export const NestedRun: NestedRunSchema = nestedRun

/**
 * A call of a tool that is an agent, which waits.
 *
 * @category models
 * @since 0.2.0
 */
export type NestedRun = typeof NestedRun.Type

/**
 * A call within which a tool's call of another tool waits, or that waits itself behind inner writes. The waiting calls
 * are among the pending calls.
 */
export const WaitingWithin = Schema.Struct({
  callId: Schema.String,
  /** The original arguments of the tool. */
  arguments: Schema.Json,
  /** True if the call was admitted with them. */
  admitted: Schema.Boolean,
  /** The fixer whose arguments they are, if they are not the model's own. */
  fixedBy: Schema.optionalKey(Schema.String),
  /** Identifies the waiting call among all inner calls. */
  identity: Schema.String,
  /** Earlier decisions about inner calls. */
  approvals: Schema.Array(DecidedWithin),
  /** Started inner writes. */
  begun: Schema.optionalKey(Schema.Array(CallBeforePause))
})

/** A call within which a tool's call of another tool waits. */
export type WaitingWithin = typeof WaitingWithin.Type

/** State of an agent made of agents. Its waiting steps are among the nested runs of the round. */
export const Steps = Schema.Struct({
  /** Its input. */
  input: Schema.Json,
  /** Outcomes of its steps, by their ids. Without an answer: the step has failed. */
  done: Schema.Record(Schema.String, Schema.Struct({ answer: Schema.optionalKey(Schema.Json) })),
  /** Steps that received the input of the whole: a conversation is theirs, also after a guard has changed it. */
  asGiven: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Number of started runs that are no steps, by name. */
  nested: Count
})

/** State of an agent made of agents. */
export type Steps = typeof Steps.Type

/**
 * Replacement of the first messages of a conversation in the model's prompt.
 *
 * @category models
 * @since 0.2.0
 */
export interface Compacted {
  readonly count: number
  readonly prompt: Prompt.Prompt
}

/** State of a run, without the agent that may resume it. */
export const Checkpoint = Schema.Struct({
  /**
   * 4 has the definitions of the tools that it is about. Earlier ones have one hash of all tools: 1, or 2 if something was done within a
   * call that waits, or 3 for agents that are made of agents.
   */
  version: Schema.Literals(versions),
  runId: Schema.String,
  agent: Schema.String,
  /** Separates the calls of a nested run from other calls with their ids. */
  scope: Schema.optionalKey(Schema.String),
  skill: Schema.optionalKey(Schema.String),
  /** The conversation, encoded by `Schema.toCodecJson(Prompt.Prompt)`. */
  transcript: Schema.Json,
  /** Replacement of the first messages in the model's prompt, if the conversation was compacted. */
  replaced: Schema.optionalKey(Schema.Struct({ count: Schema.Int, prompt: Schema.Json })),
  /** Replacement of the conversation by the input guard. */
  replacedInput: Schema.optionalKey(Schema.Json),
  /** The model was asked for another answer, because one did not fit. */
  corrected: Schema.optionalKey(Schema.Literal(true)),
  turn: Schema.Int,
  usage: Count,
  /** Usage of the agent's own budget, and additions to its caps. */
  budget: Schema.Struct({
    used: Count,
    retries: Count,
    extended: Count,
    lastTool: Schema.optionalKey(Schema.String)
  }),
  executed: Schema.Array(Schema.Json),
  /** Writes that tools can compensate: `CompensableWrite`. */
  done: Schema.optionalKey(Schema.Array(Schema.Json)),
  /** Calls that the idempotency ledger answered with another call's write, by the ids of the entries. */
  ledgerAnswers: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String))),
  /** Number of failures by call and kind. */
  failures: Schema.Record(Schema.String, Count),
  /** Results of calls, and their repetitions in a row: by tool, as hashes of arguments and results. */
  answers: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Array(Schema.Struct({ key: Schema.String, print: Schema.String, times: Schema.Number }))
    )
  ),
  /** Ids of all calls so far. */
  callIds: Schema.Array(Schema.String),
  /** Untrusted tools whose output the run has read. */
  taintedBy: Schema.Array(Schema.String),
  /** Tools that are left out of requests until a time, in milliseconds since the epoch. */
  hidden: Count,
  /** Client tools that only the request of the run has declared. */
  requestTools: Schema.optionalKey(Schema.Json),
  /** States of the agents that the agent is made of. */
  steps: Schema.optionalKey(Steps),
  /** The answer whose calls are not all done: its calls, the results there are, the calls that wait. */
  round: Schema.optionalKey(Schema.Struct({
    calls: Schema.Array(ModelCall),
    results: Schema.Json,
    pending: Schema.Array(PendingCall),
    nested: Schema.optionalKey(Schema.Array(NestedRun)),
    within: Schema.optionalKey(Schema.Array(WaitingWithin))
  }))
})

/** State of a run, without the agent that may resume it. */
export type Checkpoint = typeof Checkpoint.Type

const snapshot = Schema.Struct({
  ...Checkpoint.fields,
  /** Names this snapshot; each can be resumed once. */
  id: Schema.String,
  /** The tools of the run at its pause. Before version 4: SHA-256 over names, descriptions, schemas, effects and trust of all. */
  tools: Schema.Union([Schema.String, Definitions]),
  /** HMAC-SHA-256 over all other fields in JSON with sorted keys, in hex. */
  mac: Schema.String
})

type SnapshotSchemaType = typeof snapshot

/**
 * Schema of a run that can be resumed.
 *
 * @category models
 * @since 0.2.0
 */
export interface SnapshotSchema extends SnapshotSchemaType {}

/**
 * A run that can be resumed. It is JSON as it is; read it from elsewhere with `Schema.decodeUnknownEffect(Snapshot)`.
 *
 * It holds the conversation in clear: keep it as you keep the conversation.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Snapshot: SnapshotSchema = snapshot

/**
 * A run that can be resumed.
 *
 * @category models
 * @since 0.2.0
 */
export type Snapshot = typeof Snapshot.Type

/**
 * End of a resumed snapshot.
 *
 * - `used`: the run has ended, or waits again.
 * - `abandoned`: it was interrupted. A process that resumes the snapshot again does not know which calls it has run.
 * - `free`: it was interrupted before any tool had run.
 *
 * @category models
 * @since 0.2.0
 */
export type ResumptionFate = "used" | "abandoned" | "free"

/**
 * The hold of a resumed run on its snapshot.
 *
 * @category models
 * @since 0.2.0
 */
export interface Resumption {
  /**
   * True if an earlier resumption of the snapshot was interrupted: its process ended, or hung for longer than its
   * lease. The calls that it has run are unknown.
   */
  readonly isTakenOver: boolean
  /**
   * Receives the end of the snapshot. If that fails or takes longer than `StoreTimeout`, it is logged, and the run's
   * end does not change.
   */
  readonly end: (fate: ResumptionFate) => Effect.Effect<void>
}

/**
 * A snapshot that another process resumes, or died while it did.
 *
 * @category models
 * @since 0.2.0
 */
export interface ClaimedSnapshot {
  /** End of the other claim unless it is renewed, in milliseconds since the epoch. */
  readonly freeAt: number
}

/**
 * Store of resumed snapshots.
 *
 * @category models
 * @since 0.2.0
 */
export interface ResumptionStore {
  /**
   * Claims a snapshot: `false` if it was resumed. A store with leases returns the {@link Resumption}, or the time at which the claim of
   * another process ends; a store without leases returns `true`.
   */
  readonly claim: (snapshotId: string) => Effect.Effect<boolean | Resumption | ClaimedSnapshot>
  /** Frees a snapshot again, for stores whose `claim` answers `true`. Without it such a snapshot is used up. */
  readonly release?: ((snapshotId: string) => Effect.Effect<void>) | undefined
}

/**
 * Remembers which snapshots were resumed, so that an approval that is sent twice does not run a write twice. A resumption that
 * was interrupted before any tool had run gives its snapshot back. By default it remembers within the process: several
 * processes need `Approval.layerResumptionsSql`, or a store of yours with an atomic insert.
 *
 * @category services
 * @since 0.2.0
 */
export const Resumptions: Context.Reference<ResumptionStore> = Context.Reference(
  "@recourse/core/Approval/Resumptions",
  {
    defaultValue: (): ResumptionStore => {
      const claimed = new Set<string>()
      return {
        release: (id) => Effect.sync(() => void claimed.delete(id)),
        claim: (id) =>
          Effect.sync(() => {
            if (claimed.has(id)) return false
            claimed.add(id)
            return true
          })
      }
    }
  }
)
