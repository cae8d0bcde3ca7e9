import { NodeRedis } from "@effect/platform-node"
import { assert, describe, it, layer, type Vitest } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Schema } from "effect"
import { KeyValueStore, Redis } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRedisMock } from "js-redis-server"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { IdempotencyLedger, Tool } from "@recourse/core"
import { layer as sqlite } from "./fixtures/sqlite.ts"
import { by } from "./kit.ts"
import type { StoreName } from "./stores/layers.ts"
import * as PgliteStream from "./stores/PgliteStream.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** A server that speaks Redis' protocol, in this process: not Redis itself. Scripts run in a Lua of its own. */
const redisServer = Effect.acquireRelease(
  Effect.promise(() => createRedisMock({ compatibility: "redis-6.2" })),
  (server) => Effect.promise(() => server.close())
)

/** Runs the paying agent in a process of its own, to its end. */
const payer = (store: StoreName, directory: string, mode: "die" | "pay" | "reconcile", url = "") =>
  Effect.promise(() =>
    new Promise<{ readonly exit: number | null; readonly result: unknown; readonly payments: ReadonlyArray<string> }>(
      (resolve, reject) => {
        const child = spawn(
          process.execPath,
          [join(import.meta.dirname, "stores", "payer.ts"), store, directory, mode],
          { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, LEDGER_URL: url } }
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
  for (const store of ["files", "sql", "redis"] as const) {
    it.live(
      `leaves an unknown outcome that the next one reports instead of paying again (${store})`,
      () =>
        Effect.gen(function*() {
          const directory = yield* temporary
          const url = store === "redis" ? (yield* redisServer).url : undefined
          const once = ["7 under order-7"]

          const first = yield* payer(store, directory, "die", url)
          assert.deepStrictEqual(first, { exit: 9, result: undefined, payments: once })

          const second = yield* payer(store, directory, "pay", url)
          assert.strictEqual(second.exit, 0)
          assert.strictEqual((second.result as { readonly code: string }).code, "outcome_unknown")
          assert.deepStrictEqual(second.payments, once)

          if (store !== "files") return

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

// --- what stores do that several processes share

/** An intent to pay under a key. */
const intent = (claim: string, key = "k"): IdempotencyLedger.Intent => ({
  id: key,
  tool: "pay",
  callId: claim,
  arguments: "hash",
  claim,
  startedAt: 1
})

const claim = (of: IdempotencyLedger.Intent) =>
  Effect.flatMap(IdempotencyLedger.IdempotencyLedger, (ledger) => ledger.claim(of, () => undefined))

const paid: IdempotencyLedger.Outcome = { _tag: "Result", value: "paid" }

/** `ledger` makes layers that know of each other only by what they keep under a name. */
const shared = <R>(
  it: Vitest.MethodsNonLive<R>,
  ledger: (name: string) => Layer.Layer<IdempotencyLedger.IdempotencyLedger, unknown, R>
) => {
  const fresh = (name: string) => Layer.fresh(ledger(name))

  it.effect(promise, () => firstResult.pipe(Effect.provide(ledger("first"))))

  it.effect("lets one of two processes run", () =>
    Effect.gen(function*() {
      const { state, tool } = paying()
      const attempts = yield* Effect.all(
        ["c1", "c2"].map((id) => Effect.exit(tool("k").call.pipe(by({ amount: 1 }, id), Effect.provide(fresh("two"))))),
        { concurrency: 2 }
      )
      assert.strictEqual(state.runs, 1)
      assert.isAtLeast(attempts.filter(Exit.isSuccess).length, 1)
    }))

  it.effect("lets one of many processes begin", () =>
    Effect.gen(function*() {
      const claims = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => `p${n}`),
        (name) => Effect.provide(claim(intent(name)), fresh("many")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(claims.filter((claimed) => claimed._tag === "Begun").length, 1)
      assert.strictEqual(claims.filter((claimed) => claimed._tag === "Unfinished").length, 19)
    }))

  it.effect("lets one of two processes take over what was cut off, and only that one record what came of it", () =>
    Effect.gen(function*() {
      const as = (name: string) => Effect.provide(claim(intent(name)), fresh("cut"))
      const first = yield* as("first")
      const others = [yield* as("a"), yield* as("b")]
      const taken = yield* Effect.forEach(
        others,
        (claimed) => claimed._tag === "Unfinished" ? claimed.claim.take(claimed.entry) : Effect.succeed(undefined)
      )
      assert.deepStrictEqual(taken, [true, false])

      // Whoever has lost the key changes nothing any more.
      if (first._tag === "Begun") {
        yield* first.claim.complete({ _tag: "Result", value: "late" }, 1e12)
        yield* first.claim.release
      }
      const [winner] = others
      if (winner?._tag === "Unfinished") yield* winner.claim.complete(paid, 1e12)
      const later = yield* as("later")
      assert.strictEqual(later._tag, "Finished")
      if (later._tag === "Finished") {
        assert.deepStrictEqual(later.outcome, paid)
        assert.strictEqual(later.entry.claim, "a")
      }
      // Nor does a finished entry change its owner.
      const [, loser] = others
      if (loser?._tag === "Unfinished") assert.isFalse(yield* loser.claim.take(loser.entry))
    }))

  it.effect("has a key that was released for whoever comes next", () =>
    Effect.gen(function*() {
      const as = (name: string) => Effect.provide(claim(intent(name)), fresh("free"))
      const first = yield* as("first")
      if (first._tag === "Begun") yield* first.claim.release
      assert.strictEqual((yield* as("second"))._tag, "Begun")
    }))
}

for (const [name, client] of [["PostgreSQL", PgliteStream.layer()], ["SQLite", sqlite]] as const) {
  layer(client, { timeout: 30_000 })(`the ledger in SQL: ${name}`, (it) => {
    shared(it, (table) => IdempotencyLedger.layerSql({ table }))

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
}

const redisStores = (it: Vitest.MethodsNonLive<Redis.Redis>) => {
  const prefixes = new Map<string, string>()
  /** The server may be one that others use, too. */
  const prefixOf = (name: string): string => {
    const prefix = prefixes.get(name) ?? `recourse-test:${crypto.randomUUID()}:`
    prefixes.set(name, prefix)
    return prefix
  }
  const ledger = (name: string) => IdempotencyLedger.layerRedis({ prefix: prefixOf(name) })

  shared(it, ledger)

  it.effect("keeps what has no outcome, and forgets what has one by its time to live", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const claimed = yield* Effect.provide(claim(intent("a")), ledger("ttl"))
      const key = `${prefixOf("ttl")}k`
      assert.strictEqual(yield* redis.send("PTTL", key), -1)
      if (claimed._tag === "Begun") yield* claimed.claim.complete(paid, (yield* Clock.currentTimeMillis) + 60_000)
      const left = yield* redis.send<number>("PTTL", key)
      assert.isTrue(left > 30_000 && left <= 60_000, String(left))
    }))

  it.effect("refuses an entry that it cannot read, and leaves it as it is", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const key = `${prefixOf("corrupt")}k`
      yield* redis.send("SET", key, "{\"id\":7}")
      const error = yield* Effect.flip(Effect.provide(claim(intent("a")), ledger("corrupt")))
      assert.instanceOf(error, IdempotencyLedger.LedgerError)
      assert.deepInclude(error, { operation: "begin" })
      assert.strictEqual(yield* redis.send("GET", key), "{\"id\":7}")
    }))

  it.effect("keeps a tool from running where something else than an entry has its key", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const { state, tool } = paying()
      yield* tool("k").call.pipe(by({ amount: 1 }), Effect.provide(ledger("list")))
      const [key] = yield* redis.send<ReadonlyArray<string>>("KEYS", `${prefixOf("list")}*`)
      yield* redis.send("DEL", key!)
      yield* redis.send("RPUSH", key!, "a list")
      const error = yield* Effect.flip(
        tool("k").call.pipe(by({ amount: 1 }, "c2"), Effect.provide(Layer.fresh(ledger("list"))))
      )
      assert.strictEqual(error._tag, "LedgerUnavailable")
      assert.strictEqual(state.runs, 1)
    }))

  it.effect("goes on when the server has forgotten its scripts, as after a restart", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      yield* Effect.provide(claim(intent("a", "before")), ledger("scripts"))
      yield* redis.send("SCRIPT", "FLUSH")
      const after = yield* Effect.provide(claim(intent("a", "after")), ledger("scripts"))
      assert.strictEqual(after._tag, "Begun")
    }))
}

layer(Layer.unwrap(Effect.map(redisServer, ({ url }) => NodeRedis.layer({ url }))))(
  "the ledger in Redis: a server of its protocol",
  redisStores
)

const redisUrl = process.env["REDIS_URL"]

describe.skipIf(redisUrl === undefined)("with REDIS_URL", () => {
  layer(NodeRedis.layer({ url: redisUrl ?? "" }))("the ledger in Redis itself", redisStores)
})
