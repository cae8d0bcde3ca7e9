/** Outcomes that arrive late at a ledger: one of a call that was compensated meanwhile is not restored. */
import { assert, describe, it } from "@effect/vitest"
import { IdempotencyLedger } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import { Duration, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { ledgerStore } from "../fixtures/sharedStore.ts"

const inside = (file: string) => import(new URL(`../../src/internal/idempotency/${file}.ts`, import.meta.url).href)

const { sqlStore } = await inside("ledgerSqlStore") as {
  readonly sqlStore: (client: SqlClient.SqlClient, table: string) => IdempotencyLedger.Store
}

const hour = Duration.hours(1)
const intent = { id: "key", tool: "pay", callId: "c1", arguments: "hash", claim: "a" }
const paid: IdempotencyLedger.Outcome = { _tag: "Result", value: "paid" }

/** The store, and another call's view of the key behind the late outcome of a compensated call. */
const promise = (store: IdempotencyLedger.Store) =>
  Effect.gen(function*() {
    const ledger = IdempotencyLedger.make(store)
    yield* store.begin(intent, hour)
    yield* store.complete(intent, paid, hour)
    yield* yield* ledger.reopen!(intent, hour)
    yield* ledger.forget(intent)
    assert.strictEqual(yield* store.complete(intent, paid, hour), "lost")
    assert.isUndefined(yield* store.begin({ ...intent, claim: "b" }, hour))
    assert.strictEqual(yield* store.complete(intent, paid, hour), "lost")
  })

describe("the late outcome of a compensated call", () => {
  it.live("is not restored in memory", () => promise(ledgerStore()))

  it.live("is not restored in a table", () =>
    Effect.scoped(Effect.gen(function*() {
      const client = yield* SqlClient.SqlClient
      yield* Layer.build(IdempotencyLedger.layerSql())
      yield* promise(sqlStore(client, "recourse_idempotency"))
    })).pipe(Effect.provide([NodeSqliteClient.layer({ filename: ":memory:" }), Reactivity.layer])))
})
