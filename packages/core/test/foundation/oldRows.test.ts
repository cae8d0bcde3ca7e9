/** Deletion of old rows. */

import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Approval, Conversation, IdempotencyLedger } from "@recourse/core"
import { database, runAll } from "../support/databaseStores.ts"

describe("old rows", () => {
  const day = Duration.toMillis("1 day")

  /** Snapshots that were resumed so many days ago. */
  const resumed = (name: string, ...days: ReadonlyArray<number>) =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (const [index, ago] of days.entries()) {
        yield* sql`INSERT INTO ${sql(name)} ${
          sql.insert({
            snapshot_id: `${ago}.${index}`,
            claim: "c",
            claimed_at: Date.now() - ago * day,
            leased_until: 0
          })
        }`
      }
    })

  it.live("of resumed snapshots expire after ninety days, or a given time", () =>
    database(Effect.gen(function*() {
      yield* runAll(Approval.createTableSql("sqlite"))
      yield* runAll(Approval.createTableSql("sqlite", { table: "mine" }))
      yield* resumed("recourse_resumptions", 1, 89, 91, 200)
      yield* resumed("mine", 1, 91)
      assert.strictEqual(yield* Approval.purgeResumptionsSql(), 2)
      assert.strictEqual(yield* Approval.purgeResumptionsSql({ keepFor: "30 days" }), 1)
      assert.strictEqual(yield* Approval.purgeResumptionsSql({ table: "mine" }), 1)
      assert.strictEqual(yield* Approval.purgeResumptionsSql({ table: "mine", keepFor: "1 hour" }), 1)
    })))

  it.live("that are not there need no right to write", () =>
    database(Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* runAll(Approval.createTableSql("sqlite"))
      yield* resumed("recourse_resumptions", 1)
      yield* sql.unsafe("PRAGMA query_only = ON")
      assert.strictEqual(yield* Approval.purgeResumptionsSql(), 0)
      assert.strictEqual((yield* Effect.flip(Approval.purgeResumptionsSql({ keepFor: 0 })))._tag, "SqlError")
    })))

  it.live.each([1, 999, 1_000, 1_001, 2_500])(
    "are counted, however many they are: %i",
    (count) =>
      database(Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* runAll(Approval.createTableSql("sqlite"))
        yield* sql`INSERT INTO recourse_resumptions (snapshot_id, claim, claimed_at, leased_until)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT 's' || i, 'c', 0, 0 FROM n`
        yield* resumed("recourse_resumptions", 1)
        assert.strictEqual(yield* Approval.purgeResumptionsSql(), count)
        assert.strictEqual((yield* sql`SELECT * FROM recourse_resumptions`).length, 1)
      }))
  )

  /** Repeated deletions of old rows: the layer, and the number of its runs. */
  const purges: ReadonlyArray<
    readonly [
      name: string,
      layer: (
        purged: () => void,
        options: { readonly every: Duration.Input } | undefined
      ) => Layer.Layer<never>
    ]
  > = [
    [
      "Conversation.layerPurge",
      (purged, options) =>
        Conversation.layerPurge(options).pipe(Layer.provide(Layer.mock(Conversation.Conversations, {
          purge: () => Effect.sync(() => (purged(), 0))
        })))
    ],
    [
      "IdempotencyLedger.layerPurge",
      (purged, options) =>
        IdempotencyLedger.layerPurge(options).pipe(Layer.provide(Layer.mock(IdempotencyLedger.IdempotencyLedger, {
          purge: Effect.sync(() => (purged(), 0))
        })))
    ]
  ]

  it.effect.each(purges)(
    "are deleted at once and then each hour, or as often as is said: %s",
    ([, layer]) =>
      Effect.gen(function*() {
        for (const [options, minutes] of [[undefined, 60], [{ every: "1 minute" }, 1]] as const) {
          let count = 0
          yield* Effect.scoped(Effect.gen(function*() {
            yield* Layer.build(layer(() => count++, options))
            const counts: Array<number> = []
            for (let step = 0; step < 3; step++) {
              yield* TestClock.adjust("1 second")
              counts.push(count)
              yield* TestClock.adjust(Duration.minutes(minutes - 0.5))
              counts.push(count)
              yield* TestClock.adjust("29 seconds")
            }
            assert.deepStrictEqual(counts, [1, 1, 2, 2, 3, 3])
          }))
          const ended = count
          yield* TestClock.adjust("3 hours")
          assert.strictEqual(count, ended, "deletes after its scope has ended")
        }
      })
  )

  it.effect("of resumed snapshots are deleted at once, then hourly or as configured", () =>
    database(Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* runAll(Approval.createTableSql("sqlite", { table: "mine" }))
      yield* runAll(Approval.createTableSql("sqlite"))
      const left = (name: string) => Effect.map(sql`SELECT * FROM ${sql(name)}`, (rows) => rows.length)
      for (
        const [options, name, wait] of [
          [undefined, "recourse_resumptions", "1 hour"],
          [{ table: "mine", every: "1 minute" }, "mine", "1 minute"]
        ] as const
      ) {
        yield* Effect.scoped(Effect.gen(function*() {
          yield* resumed(name, 91)
          yield* Layer.build(Approval.layerPurgeResumptionsSql(options))
          yield* TestClock.adjust("1 second")
          assert.strictEqual(yield* left(name), 0)
          yield* resumed(name, 91)
          yield* TestClock.adjust("30 seconds")
          assert.strictEqual(yield* left(name), 1)
          yield* TestClock.adjust(wait)
          assert.strictEqual(yield* left(name), 0)
        }))
      }
    })))

  it.effect("of conversations unchanged for ninety days, or a given time, expire", () =>
    Effect.gen(function*() {
      const asked: Array<Duration.Input> = []
      const store = Layer.mock(Conversation.Conversations, {
        purge: (keepFor) => Effect.sync(() => (asked.push(keepFor) % 3 === 0 ? 0 : 100))
      })
      const counts = yield* Effect.all([
        Conversation.purge(),
        Conversation.purge({ keepFor: "1 day" })
      ]).pipe(Effect.provide(store))
      assert.deepStrictEqual(counts, [200, 200])
      assert.deepStrictEqual(asked, [90, 90, 90, 1, 1, 1].map((days) => days * day))
    }))
})
