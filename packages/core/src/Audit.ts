/**
 * Audit: a record of each decision about a call. It holds who decided, which call, a hash of the arguments, the
 * decision, and an id to refer to. It never holds arguments or results.
 *
 * An audit that cannot be written ends the run: a decision that must be recorded before a call runs then stops that
 * call.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type { ConfigurationError } from "./ConfigurationError.ts"
import { type Columns, createSql, type Dialect, durable, prepareTable } from "./internal/foundation/sqlTable.ts"
import { rowWithoutNul } from "./internal/foundation/withoutNul.ts"
import { Audit, type AuditRecord, type Writer } from "./internal/run/auditRecord.ts"
import { effectResult } from "./internal/foundation/options/hookResult.ts"
export { Actor, Audit, AuditRecord, type AuditRecordSchema, Decision, type Writer } from "./internal/run/auditRecord.ts"

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
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (write: (record: AuditRecord) => Effect.Effect<unknown>): Layer.Layer<never> =>
  Layer.succeed(
    Audit,
    (record) =>
      Effect.suspend(() => Effect.asVoid(effectResult({ subject: "Audit.layer", name: "write" }, write(record))))
  )

/**
 * A layer that logs records: matters of security as warnings, everything else as information.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerLog: Layer.Layer<never> = layer((record) =>
  (record.security ? Effect.logWarning("audit") : Effect.logInfo("audit")).pipe(
    Effect.annotateLogs({ audit: { ...record } })
  )
)

/** A file that records are appended to. */
const appender = (file: FileSystem.File, sync: boolean): Writer => {
  // One at a time, so that lines do not mix.
  const lock = Semaphore.makeUnsafe(1)
  /** True if the file may end within a line, after a full disk or a crash. */
  let isTorn = true
  const endsWithinLine = Effect.gen(function*() {
    const { size } = yield* file.stat
    if (size === 0n) return false
    yield* file.seek(size - 1n, "start")
    const [last] = Option.getOrElse(yield* file.readAlloc(1), () => new Uint8Array())
    return last !== newline
  })
  const append = Effect.fnUntraced(function*(record: AuditRecord) {
    const isWithin = isTorn && (yield* endsWithinLine)
    // A partial write does not count as written.
    isTorn = true
    const line = new TextEncoder().encode(`${isWithin ? "\n" : ""}${JSON.stringify(record)}\n`)
    yield* file.writeAll(line)
    if (sync) yield* file.sync
    isTorn = false
  })
  return (record) => lock.withPermit(Effect.orDie(append(record)))
}

const newline = 10

/**
 * A layer that appends records to a file, one JSON object a line. A file that cannot be opened ends the program's
 * start. A record that cannot be written whole ends its run. A torn line, for example after a full disk, stays as it
 * is, and the next record starts a new line. Readers skip lines that are no JSON.
 *
 * The operating system writes to the disk at its own time. With `sync` the run continues after the record has reached
 * the disk, which takes milliseconds each.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerJsonLines = (
  path: string,
  options?: {
    /** True if each record waits for the disk. Default: false. */
    readonly sync?: boolean | undefined
  }
): Layer.Layer<never, PlatformError.PlatformError, FileSystem.FileSystem> =>
  Layer.effect(
    Audit,
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      return appender(yield* files.open(path, { flag: "a+" }), options?.sync === true)
    })
  )

/** The audit's table. */
const columns: Columns = {
  reference_id: { type: "name", isUnique: true },
  at: { type: "millis" },
  actor: { type: "long", isOptional: true },
  run_id: { type: "name" },
  path: { type: "long" },
  tool: { type: "name" },
  call_id: { type: "long" },
  arguments_hash: { type: "id" },
  decision: { type: "name" },
  decided_by: { type: "long", isOptional: true },
  reason: { type: "long", isOptional: true },
  security: { type: "flag" }
}

const defaultTable = "recourse_audit"

/**
 * The SQL that makes the audit's table, for migrations of your own: use it with `layerSql({ create: false })`.
 *
 * @category getters
 * @since 0.2.0
 */
export const createTableSql = (dialect: Dialect, options?: { readonly table?: string | undefined }): string =>
  createSql(options?.table ?? defaultTable, columns, dialect)

/**
 * A layer that inserts records into a table. The table is created if it is missing, and checked at start. For
 * PostgreSQL, SQLite, MySQL and MariaDB. It refuses to write within a transaction of the same client, because a
 * rollback would remove the record: the run ends.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerSql = (
  options?: {
    /** Default: `"recourse_audit"`. */
    readonly table?: string | undefined
    /** True if the layer creates a missing table. Default: true. */
    readonly create?: boolean | undefined
  }
): Layer.Layer<never, SqlError.SqlError | ConfigurationError, SqlClient.SqlClient> =>
  Layer.effect(
    Audit,
    Effect.gen(function*() {
      const sql = (yield* SqlClient.SqlClient).withoutTransforms()
      const table = options?.table ?? defaultTable
      yield* prepareTable(sql, table, columns, { subject: "Audit.layerSql", create: options?.create })
      return (record: AuditRecord) =>
        Effect.asVoid(Effect.orDie(durable(
          sql,
          sql`INSERT INTO ${sql(table)} ${
            sql.insert(rowWithoutNul({
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
            }))
          }`
        )))
    })
  )
