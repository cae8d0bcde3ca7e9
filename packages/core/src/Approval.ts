/**
 * Approval: a run that waits for a person, as a value.
 *
 * A call that needs an approval is not executed; when the other calls of the same answer are done, the run stops and what
 * is needed to go on is a {@link Snapshot}: plain JSON, to be kept anywhere and resumed in any process that has the same
 * agent and the same key. Decisions are about the exact arguments that were shown, and expire.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { ConfigurationError } from "./ConfigurationError.ts"

/** A call that waits. Times are milliseconds since the epoch. */
export const PendingCall = Schema.Struct({
  /** Of a call within an agent that is a tool: the id of the tool's call, a slash, and the call's own. */
  callId: Schema.String,
  tool: Schema.String,
  /** Exactly what the tool would be called with. */
  arguments: Schema.Record(Schema.String, Schema.Json),
  /** SHA-256 of the arguments as JSON with sorted keys, in hex. */
  argumentsHash: Schema.String,
  /** Why a person is asked, as the policies say. */
  reasons: Schema.Array(Schema.String),
  /** `approval_expired`: there was an approval, and it came too late. */
  code: Schema.Literals(["approval_required", "approval_expired"]),
  /** The fixer whose arguments they are, if they are not the model's own. */
  fixedBy: Schema.optionalKey(Schema.String),
  requestedAt: Schema.Number,
  /** An approval that comes later asks again. */
  expiresAt: Schema.Number
})

/** A call that waits. */
export type PendingCall = typeof PendingCall.Type

/** The version of snapshots that this library writes and reads. */
export const version = 1

const Count = Schema.Record(Schema.String, Schema.Number)

/** A call as the model made it. */
const ModelCall = Schema.Struct({ id: Schema.String, name: Schema.String, params: Schema.Json })

/** A call of a tool that is an agent, which waits. What it waits for stands among the pending calls. */
export const NestedRun = Schema.Struct({
  callId: Schema.String,
  /** Exactly what the tool was called with. */
  arguments: Schema.Record(Schema.String, Schema.Json),
  /** The fixer whose arguments they are, if they are not the model's own. */
  fixedBy: Schema.optionalKey(Schema.String),
  /** The `Snapshot` of the agent that is the tool. */
  snapshot: Schema.Json
})

/** A call of a tool that is an agent, which waits. */
export type NestedRun = typeof NestedRun.Type

/** What a run is, without the name of who may resume it. */
export const Checkpoint = Schema.Struct({
  version: Schema.Literal(version),
  runId: Schema.String,
  agent: Schema.String,
  skill: Schema.optionalKey(Schema.String),
  /** The conversation, as `Schema.toCodecJson(Prompt.Prompt)` encodes it. */
  transcript: Schema.Json,
  turn: Schema.Int,
  usage: Count,
  /** What the agent's own budget has used, and what was added to its caps. */
  budget: Schema.Struct({ used: Count, retries: Count, extended: Count }),
  executed: Schema.Array(Schema.Json),
  /** How often which call failed in which way. */
  failures: Schema.Record(Schema.String, Count),
  /** Ids of all calls so far. */
  callIds: Schema.Array(Schema.String),
  /** Untrusted tools whose output the run has read. */
  taintedBy: Schema.Array(Schema.String),
  /** Tools that are left out of requests until a time, in milliseconds since the epoch. */
  hidden: Count,
  /** The answer whose calls are not all done: its calls, the results there are, the calls that wait. */
  round: Schema.optionalKey(Schema.Struct({
    calls: Schema.Array(ModelCall),
    results: Schema.Json,
    pending: Schema.Array(PendingCall),
    nested: Schema.optionalKey(Schema.Array(NestedRun))
  }))
})

/** What a run is, without the name of who may resume it. */
export type Checkpoint = typeof Checkpoint.Type

/**
 * A run that can be resumed. It is JSON as it is; read it from elsewhere with `Schema.decodeUnknownEffect(Snapshot)`.
 *
 * It holds the conversation in clear: keep it as you keep the conversation.
 */
export const Snapshot = Schema.Struct({
  ...Checkpoint.fields,
  /** Names this snapshot; each can be resumed once. */
  id: Schema.String,
  /** SHA-256 over the agent's tools: names, descriptions, schemas, effects, trust. */
  tools: Schema.String,
  /** HMAC-SHA-256 over everything else, as JSON with sorted keys, in hex. */
  mac: Schema.String
})

/** A run that can be resumed. */
export type Snapshot = typeof Snapshot.Type

/** The key that snapshots are signed with. */
export class SnapshotKey extends Context.Service<SnapshotKey, Redacted.Redacted<string>>()(
  "@recourse/core/Approval/SnapshotKey"
) {}

/** The key as a layer. At least 32 bytes, as RFC 2104 asks for with SHA-256; throws `ConfigurationError` for less. */
export const layerKey = (key: Redacted.Redacted<string>): Layer.Layer<SnapshotKey> => {
  if (new TextEncoder().encode(Redacted.value(key)).length < 32) {
    throw new ConfigurationError({ subject: "Approval.layerKey", problem: "the key must have at least 32 bytes" })
  }
  return Layer.succeed(SnapshotKey, key)
}

// --- how a run ends -------------------------------------------------------------------------------------------------

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
  override get message(): string {
    const calls = this.snapshot.round?.pending.length ?? 0
    return `Agent "${this.agent}" waits for the approval of ${calls} call${calls === 1 ? "" : "s"}`
  }
}

/**
 * A snapshot cannot be resumed; nothing was run.
 *
 * `tampered`: it is not what was signed, or signed with another key. `version`: another version of the library wrote it.
 * `agent`: another agent's. `tools_changed`: the agent's tools are not what they were. `used`: it was resumed before.
 */
export class SnapshotRefused extends Schema.TaggedError<SnapshotRefused>()("SnapshotRefused", {
  agent: Schema.String,
  reason: Schema.Literals(["tampered", "version", "agent", "tools_changed", "used"])
}) {
  override get message(): string {
    return `The snapshot cannot be resumed by agent "${this.agent}": ${this.reason}`
  }
}

/**
 * A decision does not fit the snapshot; nothing was run.
 *
 * `unknown_call`: no such call waits. `other_arguments`: it was made for other arguments than those that wait. `twice`:
 * there are two decisions about the call. `invalid_result`: what it answers does not fit the tool's `success` schema.
 */
export class DecisionRefused extends Schema.TaggedError<DecisionRefused>()("DecisionRefused", {
  callId: Schema.String,
  reason: Schema.Literals(["unknown_call", "other_arguments", "twice", "invalid_result"])
}) {
  override get message(): string {
    return `The decision about call ${this.callId} cannot be used: ${this.reason}`
  }
}

// --- decisions ------------------------------------------------------------------------------------------------------

const about = {
  callId: Schema.String,
  /** Hash of the arguments that the decision was made about. */
  argumentsHash: Schema.String,
  /** Who decided, for the audit. */
  by: Schema.optionalKey(Schema.String)
}

/** What a person decided about a call that waits. JSON, to come from anywhere. */
export const Decision = Schema.Union([
  Schema.TaggedStruct("Approve", about),
  Schema.TaggedStruct("Edit", { ...about, arguments: Schema.Record(Schema.String, Schema.Json) }),
  Schema.TaggedStruct("Reject", { ...about, reason: Schema.String }),
  Schema.TaggedStruct("Respond", { ...about, result: Schema.Json })
])

/** What a person decided about a call that waits. */
export type Decision = typeof Decision.Type

/** Says who decided. */
export interface By {
  readonly by?: string
}

const subject = (call: PendingCall, options: By | undefined) => ({
  callId: call.callId,
  argumentsHash: call.argumentsHash,
  ...(options?.by === undefined ? undefined : { by: options.by })
})

/** Runs the call with the arguments that it waits with, and no others. */
export const approve = (call: PendingCall, options?: By): Decision => ({ _tag: "Approve", ...subject(call, options) })

/** Runs the call with other arguments: they are checked by the tool's schema and the policies like the model's own. */
export const edit = (
  call: PendingCall,
  args: { readonly [key: string]: Schema.Json },
  options?: By
): Decision => ({ _tag: "Edit", ...subject(call, options), arguments: args })

/** Does not run the call. The model is told the reason. */
export const reject = (call: PendingCall, reason: string, options?: By): Decision => ({
  _tag: "Reject",
  ...subject(call, options),
  reason
})

/** Does not run the call: this is its result, as JSON of the tool's `success` schema. */
export const respond = (call: PendingCall, result: Schema.Json, options?: By): Decision => ({
  _tag: "Respond",
  ...subject(call, options),
  result
})

// --- each snapshot once ---------------------------------------------------------------------------------------------

/**
 * Remembers which snapshots were resumed, so that an approval that is sent twice does not run a write twice. `claim`
 * answers whether the snapshot was free. By default it remembers within the process; give it a store with an atomic
 * insert where several processes may resume.
 */
export const Resumptions: Context.Reference<{ readonly claim: (snapshotId: string) => Effect.Effect<boolean> }> =
  Context.Reference("@recourse/core/Approval/Resumptions", {
    defaultValue: () => {
      const claimed = new Set<string>()
      return {
        claim: (id: string) =>
          Effect.sync(() => {
            if (claimed.has(id)) return false
            claimed.add(id)
            return true
          })
      }
    }
  })

/**
 * A layer that remembers resumed snapshots in a table, which it creates where there is none, so that of several processes
 * one resumes. For databases with `ON CONFLICT DO NOTHING RETURNING` (PostgreSQL, SQLite). Default name of the table:
 * `recourse_resumptions`. A database that cannot be written ends the run before anything is executed.
 */
export const layerResumptionsSql = (
  options?: { readonly table?: string | undefined }
): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effect(
    Resumptions,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const table = options?.table ?? "recourse_resumptions"
      yield* Effect.orDie(sql`CREATE TABLE IF NOT EXISTS ${sql(table)} (snapshot_id TEXT PRIMARY KEY)`)
      return {
        claim: (snapshotId: string) =>
          Effect.map(
            Effect.orDie(
              sql`INSERT INTO ${sql(table)} ${
                sql.insert({ snapshot_id: snapshotId })
              } ON CONFLICT DO NOTHING RETURNING snapshot_id`
            ),
            (rows) => rows.length === 1
          )
      }
    })
  )
