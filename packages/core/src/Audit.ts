/**
 * The audit: a record of each decision about a call that somebody may have to answer for. Who, what, a hash of the
 * arguments, the decision, and an id to refer to; never arguments or results themselves.
 *
 * An audit that cannot be written ends the run: what must be recorded before it is done is then not done.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { AuditRecord } from "./internal/run/audit.ts"
import { Audit, type Writer } from "./internal/run/audit.ts"
export { Actor, Audit, AuditRecord, Decision, type Writer } from "./internal/run/audit.ts"

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
