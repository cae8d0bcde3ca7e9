/**
 * The audit: a record of each decision about a call that somebody may have to answer for. Who, what, a hash of the
 * arguments, the decision, and an id to refer to; never arguments or results themselves.
 *
 * An audit that cannot be written ends the run: what must be recorded before it is done is then not done.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"

/**
 * What was decided about a call.
 *
 * - `denied`: by a policy. `substituted`: a policy answered in its place.
 * - `approval_requested`, `approval_expired`, `approved`, `edited`, `rejected`, `responded`: approval.
 * - `blocked`: the output guard took the result away.
 * - `cancelled`: it was not run, or interrupted, because the run ended.
 * - `outcome_unknown`, `idempotency_conflict`, `authentication`: it failed in that way.
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
  "blocked",
  "cancelled",
  "outcome_unknown",
  "idempotency_conflict",
  "authentication"
])

/** What was decided about a call. */
export type Decision = typeof Decision.Type

/** One record. */
export const AuditRecord = Schema.Struct({
  /** The id to refer to. For blocked output the model is told it too. */
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
  /** Who or what decided: a policy, a person, a guard's category. */
  by: Schema.optionalKey(Schema.String),
  /** Why, as the policy or the person said, redacted. */
  reason: Schema.optionalKey(Schema.String),
  /** Whether it is a matter of security: blocked output, denials of tainted runs. */
  security: Schema.Boolean
})

/** One record. */
export type AuditRecord = typeof AuditRecord.Type

/** Writes a record. */
export type Writer = (record: AuditRecord) => Effect.Effect<void>

/** Where records go. Nowhere by default, and then none is made. */
export const Audit: Context.Reference<Writer | undefined> = Context.Reference<Writer | undefined>(
  "@recourse/core/Audit",
  {
    defaultValue: () => undefined
  }
)

/** Whom runs act for: a user's id, a service's name. */
export const Actor: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@recourse/core/Audit/Actor",
  { defaultValue: () => undefined }
)

/**
 * A layer that gives each record to a function.
 *
 * **Example** (Which calls were denied?)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent, Audit, Policy, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const records: Array<Audit.AuditRecord> = []
 * const Pay = Tool.make("pay", { effects: "write", execute: () => Effect.void }).pipe(
 *   Tool.onError((call) => call.pipe(Effect.catchTag("InvalidArgs", () => Effect.void)))
 * )
 * const agent = Agent.make("clerk", { tools: [Pay], policies: [Policy.make("closed", () => Policy.deny("weekend"))] })
 *
 * await Effect.runPromise(
 *   agent.run("Pay").pipe(
 *     Effect.provide(Layer.mergeAll(
 *       Audit.layer((record) => Effect.sync(() => records.push(record))),
 *       ScriptedModel.layer([ScriptedModel.call("pay", {}), ScriptedModel.text("I may not.")])
 *     ))
 *   )
 * ) // => "I may not."
 * records.map(({ by, decision, reason, tool }) => ({ by, decision, reason, tool }))
 * // => [{ by: "closed", decision: "denied", reason: "weekend", tool: "pay" }]
 * ```
 */
export const layer = (write: (record: AuditRecord) => Effect.Effect<unknown>): Layer.Layer<never> =>
  Layer.succeed(Audit, (record) => Effect.asVoid(write(record)))

/** A layer that logs records: matters of security as warnings, everything else as information. */
export const layerLog: Layer.Layer<never> = layer((record) =>
  (record.security ? Effect.logWarning("audit") : Effect.logInfo("audit")).pipe(
    Effect.annotateLogs({ audit: { ...record } })
  )
)

/** A layer that appends records to a file, one JSON object a line. */
export const layerJsonLines = (path: string): Layer.Layer<never, never, FileSystem.FileSystem> =>
  Layer.effect(
    Audit,
    Effect.map(FileSystem.FileSystem, (files): Writer => {
      // One at a time, so that lines do not mix.
      const lock = Semaphore.makeUnsafe(1)
      return (record) =>
        lock.withPermit(Effect.orDie(files.writeFileString(path, `${JSON.stringify(record)}\n`, { flag: "a" })))
    })
  )

/** A layer that inserts records into a table, which it creates where there is none. Default name: `recourse_audit`. */
export const layerSql = (
  options?: { readonly table?: string | undefined }
): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effect(
    Audit,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const table = options?.table ?? "recourse_audit"
      yield* Effect.orDie(sql`CREATE TABLE IF NOT EXISTS ${sql(table)} (
        reference_id TEXT PRIMARY KEY,
        at BIGINT NOT NULL,
        actor TEXT,
        run_id TEXT NOT NULL,
        path TEXT NOT NULL,
        tool TEXT NOT NULL,
        call_id TEXT NOT NULL,
        arguments_hash TEXT NOT NULL,
        decision TEXT NOT NULL,
        decided_by TEXT,
        reason TEXT,
        security INTEGER NOT NULL
      )`)
      return (record: AuditRecord) =>
        Effect.asVoid(Effect.orDie(sql`INSERT INTO ${sql(table)} ${
          sql.insert({
            reference_id: record.referenceId,
            at: record.at,
            actor: record.actor ?? null,
            run_id: record.runId,
            path: record.path.join("/"),
            tool: record.tool,
            call_id: record.callId,
            arguments_hash: record.argumentsHash,
            decision: record.decision,
            decided_by: record.by ?? null,
            reason: record.reason ?? null,
            security: record.security ? 1 : 0
          })
        }`))
    })
  )
