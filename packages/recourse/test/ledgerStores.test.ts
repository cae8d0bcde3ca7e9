import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { IdempotencyLedger, Tool } from "recourse"
import { by } from "./kit.ts"
import type { StoreName } from "./stores/layers.ts"
import * as PgliteStream from "./stores/PgliteStream.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** Runs the paying agent in a process of its own, to its end. */
const payer = (store: StoreName, directory: string, mode: "die" | "pay" | "reconcile") =>
  Effect.promise(() =>
    new Promise<{ readonly exit: number | null; readonly result: unknown; readonly payments: ReadonlyArray<string> }>(
      (resolve, reject) => {
        const child = spawn(
          process.execPath,
          [join(import.meta.dirname, "stores", "payer.ts"), store, directory, mode],
          { stdio: ["ignore", "pipe", "inherit"] }
        )
        let output = ""
        child.stdout.on("data", (chunk: Buffer) => output += chunk.toString())
        child.on("error", reject)
        child.on("close", (exit) =>
          resolve({
            exit,
            result: output === "" ? undefined : JSON.parse(output),
            payments: readFileSync(join(directory, "payments.log"), "utf8").trim().split("\n")
          }))
      }
    )
  )

describe("a process that dies between the payment and its record", () => {
  for (const store of ["files", "sql"] as const) {
    it.live(
      `leaves an unknown outcome that the next one reports instead of paying again (${store})`,
      () =>
        Effect.gen(function*() {
          const directory = yield* temporary
          const once = ["7 under order-7"]

          const first = yield* payer(store, directory, "die")
          assert.deepStrictEqual(first, { exit: 9, result: undefined, payments: once })

          const second = yield* payer(store, directory, "pay")
          assert.strictEqual(second.exit, 0)
          assert.strictEqual((second.result as { readonly code: string }).code, "outcome_unknown")
          assert.deepStrictEqual(second.payments, once)

          if (store === "sql") return

          const asked = yield* payer(store, directory, "reconcile")
          assert.deepStrictEqual(asked, { exit: 0, result: "7 under order-7", payments: once })

          // What was found out is on record: nobody is asked again.
          const last = yield* payer(store, directory, "pay")
          assert.deepStrictEqual(last, { exit: 0, result: "7 under order-7", payments: once })
        }).pipe(Effect.scoped),
      60_000
    )
  }
})

// --- what every store does

const paying = () => {
  const state = { runs: 0 }
  const tool = (key: string) =>
    Tool.make("pay", {
      parameters: Schema.Struct({ amount: Schema.Int }),
      success: Schema.Struct({ payment: Schema.Int, at: Schema.DateFromString }),
      effects: "write",
      idempotency: { key: () => key, timeToLive: "1 hour" },
      execute: () => Effect.sync(() => ({ payment: ++state.runs, at: new Date(0) }))
    })
  return { state, tool }
}

const firstResult = Effect.gen(function*() {
  const { state, tool } = paying()
  const first = yield* tool("k").call.pipe(by({ amount: 1 }))
  assert.deepStrictEqual(first, { payment: 1, at: new Date(0) })
  assert.deepStrictEqual(yield* tool("k").call.pipe(by({ amount: 1 }, "c2")), first)
  const conflict = yield* Effect.flip(tool("k").call.pipe(by({ amount: 2 }, "c3")))
  assert.strictEqual(conflict._tag, "IdempotencyConflict")
  assert.strictEqual(state.runs, 1)
  yield* TestClock.adjust("1 hour")
  assert.strictEqual((yield* tool("k").call.pipe(by({ amount: 2 }, "c4"))).payment, 2)
})

const promise = "answers with the first result, and with a conflict for other arguments, until it expires"

describe("the ledger in memory", () => {
  it.effect(promise, () => firstResult.pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("the ledger in a key/value store", () => {
  it.effect(promise, () =>
    firstResult.pipe(
      Effect.provide(IdempotencyLedger.layerKeyValueStore()),
      Effect.provide(KeyValueStore.layerMemory)
    ))
})

layer(PgliteStream.layer(), { timeout: 30_000 })("the ledger in SQL", (it) => {
  it.effect(promise, () => firstResult.pipe(Effect.provide(IdempotencyLedger.layerSql({ table: "first" }))))

  it.effect("lets one of two processes run", () =>
    Effect.gen(function*() {
      const { state, tool } = paying()
      // Two ledgers on one table know of each other only by the table.
      const other = Layer.fresh(IdempotencyLedger.layerSql({ table: "two" }))
      const attempts = yield* Effect.all(
        ["c1", "c2"].map((id) => Effect.exit(tool("k").call.pipe(by({ amount: 1 }, id), Effect.provide(other)))),
        { concurrency: 2 }
      )
      assert.strictEqual(state.runs, 1)
      assert.isAtLeast(attempts.filter(Exit.isSuccess).length, 1)
    }))

  it.effect("lets one of two processes take over what was cut off", () =>
    Effect.gen(function*() {
      const client = yield* SqlClient.SqlClient
      const { state, tool } = paying()
      yield* tool("k").call.pipe(by({ amount: 1 }), Effect.provide(IdempotencyLedger.layerSql({ table: "cut" })))
      yield* client`UPDATE cut SET outcome = NULL, expires_at = NULL`
      const claims = yield* Effect.forEach(["a", "b"], (claim) =>
        Effect.gen(function*() {
          const ledger = yield* IdempotencyLedger.IdempotencyLedger
          const [row] = yield* client<{ id: string; arguments_hash: string }>`SELECT * FROM cut`
          return yield* ledger.claim(
            { id: row!.id, tool: "pay", callId: claim, arguments: row!.arguments_hash, claim, startedAt: 1 },
            () => undefined
          )
        }).pipe(Effect.provide(Layer.fresh(IdempotencyLedger.layerSql({ table: "cut" })))))
      const taken = yield* Effect.forEach(
        claims,
        (claimed) => claimed._tag === "Unfinished" ? claimed.claim.take(claimed.entry) : Effect.succeed(undefined)
      )
      assert.deepStrictEqual(taken, [true, false])
      assert.strictEqual(state.runs, 1)
    }))

  it.effect("does not record within a transaction, and so nothing is run", () =>
    Effect.gen(function*() {
      const client = yield* SqlClient.SqlClient
      const { state, tool } = paying()
      const error = yield* tool("k").call.pipe(
        by({ amount: 1 }),
        client.withTransaction,
        Effect.flip,
        Effect.provide(IdempotencyLedger.layerSql())
      )
      assert.strictEqual(error._tag, "LedgerUnavailable")
      assert.strictEqual(state.runs, 0)
    }))
})
