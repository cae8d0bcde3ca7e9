/** Audit records, and the service that writes them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * Decision about a call.
 *
 * - `denied`: by a policy. `substituted`: a policy answered in its place.
 * - `approval_requested`, `approval_expired`, `approved`, `edited`, `rejected`, `responded`: approval.
 * - `duplicate`: it was not executed, because an equal call of the same answer was.
 * - `blocked`: the output guard took the result away.
 * - `cancelled`: it was not run, or interrupted, because the run ended.
 * - `compensated`, `not_compensated`: its run compensated it at its end, or failed to.
 * - `outcome_unknown`, `idempotency_conflict`, `authentication`: it failed in that way.
 * - `outcome_checked`: a person has found out whether it has happened: the reason begins with the answer.
 * - `compensation_requested`: a person requests its compensation after the end of its run.
 * - `defect`: its executor threw, died, or returned a promise that rejected. The result of the call has a record of its own.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Decision = Schema.Literals([
  "denied",
  "substituted",
  "approval_requested",
  "approval_expired",
  "approved",
  "edited",
  "rejected",
  "responded",
  "duplicate",
  "blocked",
  "cancelled",
  "compensated",
  "not_compensated",
  "outcome_unknown",
  "idempotency_conflict",
  "authentication",
  "outcome_checked",
  "compensation_requested",
  "defect"
])

/**
 * Decision about a call.
 *
 * @category models
 * @since 0.2.0
 */
export type Decision = typeof Decision.Type

const auditRecord = Schema.Struct({
  /** Id for references. For blocked output the model receives it too. */
  referenceId: Schema.String,
  /** Milliseconds since the epoch. */
  at: Schema.Number,
  /** Whom the run acts for: {@link Actor}. */
  actor: Schema.optionalKey(Schema.String),
  runId: Schema.String,
  /** Names of the agents from the outermost to the one that made the call. */
  path: Schema.Array(Schema.String),
  tool: Schema.String,
  callId: Schema.String,
  /** SHA-256 of the arguments as JSON with sorted keys, in hex. */
  argumentsHash: Schema.String,
  decision: Decision,
  /** Author of the decision: a policy, a person, a guard's category. */
  by: Schema.optionalKey(Schema.String),
  /** Reason of the policy or the person, redacted. */
  reason: Schema.optionalKey(Schema.String),
  /** True for matters of security: blocked output, denials of tainted runs. */
  security: Schema.Boolean
})

type AuditRecordSchemaType = typeof auditRecord

/**
 * Schema of a record of the audit.
 *
 * @category models
 * @since 0.2.0
 */
export interface AuditRecordSchema extends AuditRecordSchemaType {}

/**
 * One record.
 *
 * @category schemas
 * @since 0.2.0
 */
export const AuditRecord: AuditRecordSchema = auditRecord

/**
 * One record.
 *
 * @category models
 * @since 0.2.0
 */
export type AuditRecord = typeof AuditRecord.Type

/**
 * Writes a record.
 *
 * @category models
 * @since 0.2.0
 */
export type Writer = (record: AuditRecord) => Effect.Effect<void>

/**
 * Writer of audit records. Default: none, and no record is made.
 *
 * @category services
 * @since 0.2.0
 */
export const Audit: Context.Reference<Writer | undefined> = Context.Reference<Writer | undefined>(
  "@recourse/core/Audit",
  {
    defaultValue: () => undefined
  }
)

/**
 * Whom runs act for: a user's id, a service's name.
 *
 * @category services
 * @since 0.2.0
 */
export const Actor: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@recourse/core/Audit/Actor",
  { defaultValue: () => undefined }
)
