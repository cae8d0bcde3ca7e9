/** Rows of the store before runs had hosts: one run in each state that a row can have. */
import { assert, describe, it } from "@effect/vitest"
import { Approval, Runs } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"
import { hostedAgent, hostedModel } from "./hostedAgents.ts"

type Row = Record<string, string | number | null>

const tables = JSON.parse(
  readFileSync(new URL("rows/beforeHosts.json", import.meta.url), "utf8")
) as Readonly<Record<string, ReadonlyArray<Row>>>

describe("rows of the version before hosts", () => {
  for (const one of sqlDatabases.filter(({ name }) => !name.startsWith("M"))) {
    it.live(`are resumed, recovered and compensated: ${one.name}`, () =>
      Effect.gen(function*() {
        const { address } = yield* Effect.acquireRelease(Effect.promise(one.open), ({ close }) => Effect.promise(close))
        const context = yield* Layer.build(RunStore.layerSql().pipe(Layer.provideMerge(sqlLayer(address))))
        const sql = Context.get(context, SqlClient.SqlClient)
        for (const [table, rows] of Object.entries(tables)) {
          for (const row of rows) yield* sql`INSERT INTO ${sql(table)} ${sql.insert(row)}`
        }
        const outside = { booked: [] as Array<string>, undone: [] as Array<string>, paid: 0 }
        const Desk = hostedAgent(outside)
        const runs = Context.get(
          yield* Layer.build(
            Durable.layer([Desk], { poll: "20 millis" }).pipe(
              Layer.provide(hostedModel),
              Layer.provide(Layer.succeedContext(context))
            )
          ),
          Runs.Runs
        )
        yield* Effect.gen(function*() {
          // Decided by a person before the change; interrupted while it waited for a signal that has come meanwhile.
          assert.strictEqual(yield* Desk.await("decided"), "done")
          assert.strictEqual(yield* Desk.await("lent"), "done")
          assert.strictEqual((yield* Effect.flip(Desk.await("undone")))._tag, "RunCancelled")
          assert.deepEqual(outside, { booked: ["1A"], undone: ["1A"], paid: 1 })
          const { askedOf, pending } = yield* Desk.poll("waits")
          assert.isDefined(askedOf)
          yield* Desk.decide("waits", pending.map((call) => Approval.approve(call)))
          assert.strictEqual(yield* Desk.await("waits"), "done")
          // The queued run has booked, and waits like the others did.
          const { pending: asked } = yield* Effect.repeat(Effect.delay(Desk.poll("queued"), "10 millis"), {
            until: ({ status }) => status === "waiting"
          })
          yield* Desk.decide("queued", asked.map((call) => Approval.approve(call)))
          assert.strictEqual(yield* Desk.await("queued"), "done")
          assert.deepEqual(outside, { booked: ["1A"], undone: ["1A"], paid: 3 })
        }).pipe(Effect.provideService(Runs.Runs, runs))
      }))

    it.live(`refuses rows of a later version with a sentence: ${one.name}`, () =>
      Effect.gen(function*() {
        const { address } = yield* Effect.acquireRelease(Effect.promise(one.open), ({ close }) => Effect.promise(close))
        const context = yield* Layer.build(sqlLayer(address))
        const sql = Context.get(context, SqlClient.SqlClient)
        const store = Layer.fresh(RunStore.layerSql()).pipe(Layer.provide(Layer.succeedContext(context)))
        yield* Layer.build(store)
        // As a later version marks the tables.
        yield* sql`UPDATE recourse_queues SET busy_until = busy_until + 1 WHERE agent = ${"~format"}`
        const error = yield* Effect.flip(Layer.build(store))
        assert.strictEqual(error._tag, "RunStoreError")
        assert.include(error.message, "rows of a later version of @recourse/durable")
      }))
  }
})
