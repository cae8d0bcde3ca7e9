/** Texts with a NUL in the tables of the ledger and of the audit, on each database. PostgreSQL has no such text. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Audit, IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"

const record: Audit.AuditRecord = {
  referenceId: "ref-1",
  at: 5,
  actor: "a\0da",
  runId: "r\0",
  path: ["chief\0", "clerk"],
  tool: "pay",
  callId: "c\0",
  argumentsHash: "ab",
  decision: "denied",
  by: "closed\0",
  reason: "we\0ekend",
  security: false
}

for (const database of sqlDatabases) {
  describe(`texts with a NUL in ${database.name}`, () => {
    let place: Awaited<ReturnType<typeof database.open>>
    beforeAll(async () => {
      place = await database.open()
    }, 30_000)
    afterAll(() => place.close(), 30_000)

    const stored = <A>(
      test: Effect.Effect<A, unknown, SqlClient.SqlClient | IdempotencyLedger.IdempotencyLedger>
    ): Effect.Effect<A, unknown> =>
      test.pipe(
        Effect.provide(
          Layer.mergeAll(IdempotencyLedger.layerSql(), Audit.layerSql()).pipe(
            Layer.provideMerge(sqlLayer(place.address))
          ),
          { local: true }
        )
      )

    it.live("a call with a NUL in its id runs once under its key", () =>
      stored(Effect.gen(function*() {
        let runs = 0
        const pay = Tool.make("pay", {
          success: Schema.Unknown,
          effects: "write",
          idempotency: { key: () => "order-7" },
          execute: () => Effect.sync(() => void runs++)
        })
        const by = (id: string) =>
          Effect.provideService(pay.call, ToolCall.ToolCall, ToolCall.make({ id, arguments: {} }))
        assert.deepStrictEqual([yield* by("c\u00001"), yield* by("c\u00002")], [undefined, undefined])
        assert.strictEqual(runs, 1)
      })), 30_000)

    it.live("the audit records each text without its NUL", () =>
      stored(Effect.gen(function*() {
        yield* (yield* Audit.Audit)!(record)
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql`SELECT actor, run_id, path, call_id, decided_by, reason FROM recourse_audit`
        assert.deepStrictEqual({ ...row }, {
          actor: "ada",
          run_id: "r",
          path: "chief/clerk",
          call_id: "c",
          decided_by: "closed",
          reason: "weekend"
        })
      })), 30_000)
  })
}
