/** The idempotency ledger on each database: the guarantees of every store, by the store's own clock. */
import { PgClient } from "@effect/sql-pg"
import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Redacted, Schema, type Scope } from "effect"
import { Redis } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { type Address, ledgerLayer, redisLayer, type SqlAddress, sqlLayer } from "../support/connections.ts"
import { forLeases } from "../support/forLeases.ts"
import { type Database, redis, sqlDatabases } from "../support/servers.ts"

const by = (args: unknown, id = "c1") => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, ToolCall.ToolCall, ToolCall.make({ id, arguments: args }))

const paying = (timeToLive: Duration.Input = "1 hour") => {
  const state = { runs: 0 }
  const tool = (key: string) =>
    Tool.make("pay", {
      parameters: Schema.Struct({ amount: Schema.Int }),
      success: Schema.Struct({ payment: Schema.Int, at: Schema.DateFromString }),
      effects: "write",
      idempotency: { key: () => key, timeToLive },
      execute: () => Effect.sync(() => ({ payment: ++state.runs, at: new Date(0) }))
    })
  return { state, tool }
}

const intent = (claim: string, key: string): IdempotencyLedger.Intent => ({
  id: key,
  tool: "pay",
  callId: claim,
  arguments: "hash",
  claim
})

/** A claim, and the end of its call. */
const claim = (of: IdempotencyLedger.Intent) =>
  Effect.flatMap(IdempotencyLedger.IdempotencyLedger, (ledger) => {
    let settle: Effect.Effect<void> = Effect.void
    return Effect.map(
      ledger.claim(of, (given) => {
        settle = given
      }),
      (claimed) => ({ claimed, settle: Effect.suspend(() => settle) })
    )
  })

const paid: IdempotencyLedger.Outcome = { _tag: "Result", value: "paid" }

const short = { lease: "300 millis", waitFor: 0 } as const

const stores = (database: Database<Address>) => {
  let place: Awaited<ReturnType<typeof database.open>>
  beforeAll(async () => {
    place = await database.open()
  }, 30_000)
  afterAll(() => place.close(), 30_000)
  /** Ledgers that share only their stored entries. */
  const fresh = (options?: IdempotencyLedger.LeaseOptions) => Layer.fresh(ledgerLayer(place.address, options))
  return { fresh, address: () => place.address }
}

const promises = (database: Database<Address>, fresh: ReturnType<typeof stores>["fresh"]) => {
  const live = (name: string, test: () => Effect.Effect<unknown, unknown, Scope.Scope>) =>
    it.live(name, () => Effect.scoped(Effect.suspend(test)), 30_000)
  /** A claim in another process, which exists as long as the test. */
  const elsewhere = (of: IdempotencyLedger.Intent, options: IdempotencyLedger.LeaseOptions) =>
    Effect.flatMap(Layer.build(fresh(options)), (context) => Effect.provideContext(claim(of), context))

  live("lists the keys whose lease has ended without an outcome", () =>
    Effect.gen(function*() {
      const context = yield* Layer.build(fresh({ lease: "200 millis", waitFor: 0 }))
      const ledger = Context.get(context, IdempotencyLedger.IdempotencyLedger)
      assert(ledger.abandoned !== undefined)
      yield* Effect.scoped(elsewhere(intent("gone", "listed gone"), { lease: "150 millis", waitFor: 0 }))
      yield* elsewhere(intent("held", "listed held"), { lease: "1 minute", waitFor: 0 })
      const { settle } = yield* Effect.provideContext(claim(intent("none", "listed none")), context)
      yield* settle
      const listed = Effect.map(ledger.abandoned(100), (entries) =>
        entries.flatMap(({ id, tool }) => id.startsWith("listed") ? [`${tool} ${id}`] : []))
      const found = yield* listed.pipe(
        Effect.delay("20 millis"),
        Effect.repeat({
          until: (entries) =>
            entries.length > 1,
          times: 200
        })
      )
      // The newest first; a call that was given up without an outcome is among them.
      assert.deepStrictEqual(found, ["pay listed none", "pay listed gone"])
      assert.lengthOf(yield* ledger.abandoned(0), 0)
    }))

  live("answers with the first result, and with a conflict for other arguments", () =>
    Effect.gen(function*() {
      const { state, tool } = paying()
      const first = yield* tool("first").call.pipe(by({ amount: 1 }))
      assert.deepStrictEqual(first, { payment: 1, at: new Date(0) })
      assert.deepStrictEqual(yield* tool("first").call.pipe(by({ amount: 1 }, "c2")), first)
      const conflict = yield* Effect.flip(tool("first").call.pipe(by({ amount: 2 }, "c3")))
      assert.strictEqual(conflict._tag, "IdempotencyConflict")
      assert.strictEqual(state.runs, 1)
    }).pipe(Effect.provide(fresh())))

  live("forgets a result by the clock of the store, and one without end never", () =>
    Effect.gen(function*() {
      for (const [key, timeToLive, runs] of [["short", "40 millis", 2], ["endless", Duration.infinity, 1]] as const) {
        const { state, tool } = paying(timeToLive)
        yield* tool(key).call.pipe(by({ amount: 1 }))
        yield* Effect.sleep("50 millis")
        yield* tool(key).call.pipe(by({ amount: 1 }, "c2"))
        assert.strictEqual(state.runs, runs, key)
      }
    }).pipe(Effect.provide(fresh())))

  live("keeps a result of any length", () =>
    Effect.gen(function*() {
      const long = Tool.make("long", {
        success: Schema.String,
        effects: "write",
        idempotency: { key: () => "long" },
        execute: () => Effect.succeed("ä".repeat(100_000))
      })
      yield* long.call.pipe(by({}))
      assert.strictEqual((yield* long.call.pipe(by({}, "c2"))).length, 100_000)
    }).pipe(Effect.provide(fresh())))

  live("lets one of many processes begin", () =>
    Effect.gen(function*() {
      const claims = yield* Effect.forEach(
        Array.from({ length: database.isShared ? 12 : 1 }, (_, n) => `p${n}`),
        (name) => elsewhere(intent(name, "many"), { lease: "10 seconds", waitFor: 0 }),
        { concurrency: "unbounded" }
      )
      const tags = claims.map(({ claimed }) => claimed._tag).sort()
      assert.deepStrictEqual(tags, ["Begun", ...Array.from({ length: tags.length - 1 }, () => "Busy")].sort())
      yield* Effect.forEach(claims, ({ settle }) => settle)
    }))

  live(
    "lets nobody take an entry whose holder is at work, however long that takes",
    () =>
      forLeases((lease, attempt) => {
        const of = (name: string) => intent(name, `work ${attempt}`)
        const options = { lease, waitFor: 0 }
        return Effect.gen(function*() {
          const holder = yield* claim(of("holder"))
          assert.strictEqual(holder.claimed._tag, "Begun")
          yield* Effect.sleep(3 * lease)
          if (!database.isShared) return
          const other = yield* elsewhere(of("other"), options)
          assert.strictEqual(other.claimed._tag, "Busy")
          if (holder.claimed._tag === "Begun") {
            assert.isTrue(yield* holder.claimed.claim.confirm)
            assert.strictEqual(yield* holder.claimed.claim.complete(paid, Duration.hours(1)), "recorded")
          }
          yield* holder.settle
          assert.strictEqual((yield* elsewhere(of("later"), options)).claimed._tag, "Finished")
        }).pipe(Effect.provide(fresh(options)))
      })
  )

  live(
    "gives an abandoned entry to one, and whoever has lost it changes nothing any more",
    () =>
      Effect.gen(function*() {
        const as = (name: string) => claim(intent(name, "cut"))
        const first = yield* as("first")
        yield* first.settle
        const others = [yield* as("a"), ...(database.isShared ? [yield* elsewhere(intent("b", "cut"), short)] : [])]
        const taken: Array<boolean> = []
        for (const { claimed } of others) {
          assert.strictEqual(claimed._tag, "Abandoned")
          if (claimed._tag !== "Abandoned") continue
          assert.strictEqual(claimed.entry.callId, "first")
          taken.push(yield* claimed.claim.take(claimed.entry))
        }
        assert.deepStrictEqual(taken, database.isShared ? [true, false] : [true])
        const late = first.claimed
        if (late._tag === "Begun") {
          assert.strictEqual(yield* late.claim.complete({ _tag: "Result", value: "late" }, Duration.hours(1)), "lost")
          yield* late.claim.release
        }
        const [winner] = others
        if (winner?.claimed._tag === "Abandoned") {
          assert.isTrue(yield* winner.claimed.claim.resume)
          assert.strictEqual(yield* winner.claimed.claim.complete(paid, Duration.hours(1)), "recorded")
        }
        yield* Effect.forEach(others, ({ settle }) => settle)
        const { claimed } = yield* as("later")
        assert.strictEqual(claimed._tag, "Finished")
        if (claimed._tag === "Finished") {
          assert.deepStrictEqual(claimed.outcome, paid)
          assert.strictEqual(claimed.entry.claim, "a")
          assert.strictEqual(claimed.entry.callId, "a")
        }
      }).pipe(Effect.provide(fresh(short)))
  )

  live(
    "finds an entry of a process that is no more abandoned once its lease has run out",
    () =>
      Effect.gen(function*() {
        if (!database.isShared) return
        yield* Effect.scoped(Effect.flatMap(Layer.build(fresh(short)), (context) =>
          // Interrupted fibers and a closed connection: no renewal, and no release.
          Effect.provideContext(claim(intent("dead", "crash")), context)))
        const started = Date.now()
        const { claimed, settle } = yield* elsewhere(intent("next", "crash"), {
          lease: "300 millis",
          waitFor: "3 seconds"
        })
        assert.strictEqual(claimed._tag, "Abandoned")
        assert.isAtLeast(Date.now() - started, 100)
        yield* settle
      })
  )

  live("has a key that was released for whoever comes next", () =>
    Effect.gen(function*() {
      const first = yield* claim(intent("first", "free"))
      if (first.claimed._tag === "Begun") yield* first.claimed.claim.release
      yield* first.settle
      const second = yield* claim(intent("second", "free"))
      assert.strictEqual(second.claimed._tag, "Begun")
      yield* second.settle
    }).pipe(Effect.provide(fresh())))

  live("records an outcome anew whose entry has vanished, and the same outcome twice", () =>
    Effect.gen(function*() {
      const { claimed, settle } = yield* claim(intent("a", "vanished"))
      if (claimed._tag !== "Begun") return assert.fail(claimed._tag)
      yield* claimed.claim.release
      assert.strictEqual(yield* claimed.claim.complete(paid, Duration.infinity), "restored")
      assert.strictEqual(yield* claimed.claim.complete(paid, Duration.infinity), "recorded")
      yield* settle
      assert.strictEqual((yield* claim(intent("b", "vanished"))).claimed._tag, "Finished")
    }).pipe(Effect.provide(fresh())))

  live(
    "lets one of two processes run, and the other has its result",
    () =>
      forLeases((lease, attempt) =>
        Effect.gen(function*() {
          if (!database.isShared) return
          let runs = 0
          const slow = Tool.make("slow", {
            success: Schema.Int,
            effects: "write",
            idempotency: { key: () => `two ${attempt}` },
            execute: () => Effect.delay(Effect.sync(() => ++runs), lease + 100)
          })
          const attempts = yield* Effect.all(
            ["c1", "c2"].map((id) => Effect.exit(slow.call.pipe(by({}, id), Effect.provide(fresh({ lease }))))),
            { concurrency: 2 }
          )
          assert.deepStrictEqual(attempts, [Exit.succeed(1), Exit.succeed(1)])
        })
      )
  )
}

for (const database of sqlDatabases) {
  describe(`the ledger on ${database.name}`, () => {
    const { address, fresh } = stores(database)
    promises(database, fresh)
    const client = () => Layer.fresh(sqlLayer(address() as SqlAddress))

    it.live("does not record within a transaction, and so runs no call", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const { state, tool } = paying()
        const ledger = yield* Layer.build(IdempotencyLedger.layerSql())
        const error = yield* tool("k").call.pipe(
          by({ amount: 1 }),
          sql.withTransaction,
          Effect.flip,
          Effect.provideContext(ledger)
        )
        assert.strictEqual(error._tag, "LedgerUnavailable")
        assert.strictEqual(state.runs, 0)
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)

    it.live("purges only expired entries, by an index", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Layer.build(IdempotencyLedger.layerSql({ table: "purged" }))
        const rows = Array.from({ length: 2500 }, (_, n): Record<string, unknown> => ({
          id: `id ${n}`,
          tool: "pay",
          call_id: "c",
          arguments_hash: "h",
          claim: "x",
          started_at: 1,
          leased_until: 1,
          outcome: n % 5 === 0 ? null : `{"_tag":"Result","value":1}`,
          expires_at: n % 5 === 0 ? null : n % 5 === 1 ? 9e14 : 1
        }))
        for (let i = 0; i < rows.length; i += 500) {
          yield* sql`INSERT INTO purged ${sql.insert(rows.slice(i, i + 500) as [Record<string, unknown>])}`
        }
        assert.strictEqual(yield* Effect.provideContext(IdempotencyLedger.purge, ledger), 1500)
        const [left] = yield* sql<{ readonly n: number | bigint }>`SELECT COUNT(*) AS n FROM purged`
        assert.strictEqual(Number(left!.n), 1000)
        const plan = sql.onDialectOrElse({
          pg: () => sql`SELECT indexname AS detail FROM pg_indexes WHERE tablename = 'purged'`,
          mysql: () => sql`SHOW INDEX FROM purged`,
          orElse: () => sql`EXPLAIN QUERY PLAN SELECT id FROM purged WHERE expires_at <= 1`
        })
        assert.include(JSON.stringify(yield* plan), "purged_expires_at")
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)

    it.live("has the statement for a table with wrong columns", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE other_shape (id VARCHAR(64))`
        for (const options of [{ table: "other_shape" }, { table: "not_there", create: false }]) {
          const error = yield* Effect.flip(Layer.build(IdempotencyLedger.layerSql(options)))
          assert.strictEqual(error._tag, "ConfigurationError")
          assert.include(error.message, "CREATE TABLE")
          assert.include(error.message, "leased_until")
        }
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)

    it.live("starts with a role that may use the table and make none", () =>
      Effect.gen(function*() {
        const place = address()
        if (place.kind !== "postgres") return
        const sql = yield* SqlClient.SqlClient
        const role = `${place.schema}_user`
        yield* Layer.build(IdempotencyLedger.layerSql({ table: "granted" }))
        yield* sql.unsafe(`CREATE ROLE ${role}`)
        yield* sql.unsafe(`GRANT USAGE ON SCHEMA ${place.schema} TO ${role}`)
        yield* sql.unsafe(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${place.schema}.granted TO ${role}`)
        const asRole = PgClient.layer({
          url: Redacted.make(place.url),
          startupOptions: `-c search_path=${place.schema} -c role=${role}`
        })
        const { state, tool } = paying()
        const ledger = IdempotencyLedger.layerSql({ table: "granted" }).pipe(Layer.provide(asRole))
        yield* tool("granted").call.pipe(by({ amount: 1 }), Effect.provide(ledger))
        assert.strictEqual(state.runs, 1)
        const missing = IdempotencyLedger.layerSql({ table: "missing" }).pipe(Layer.provide(asRole))
        const error = yield* Effect.flip(Layer.build(missing))
        assert.strictEqual(error._tag, "ConfigurationError")
        assert.include(error.message, "cannot be created")
        yield* sql.unsafe(`DROP OWNED BY ${role}`)
        yield* sql.unsafe(`DROP ROLE ${role}`)
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)

    it.live("is created by many processes at once, and by the printed SQL", () =>
      Effect.gen(function*() {
        const started = yield* Effect.forEach(
          Array.from({ length: database.isShared ? 16 : 1 }),
          () =>
            Effect.exit(
              Effect.scoped(Effect.provide(Layer.build(IdempotencyLedger.layerSql({ table: "raced" })), client()))
            ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(started.filter(Exit.isFailure), [])
        const sql = yield* SqlClient.SqlClient
        const dialect: IdempotencyLedger.Dialect = sql.onDialectOrElse({
          pg: () => "pg" as const,
          mysql: () => "mysql" as const,
          orElse: () => "sqlite" as const
        })
        for (const statement of IdempotencyLedger.createTableSql(dialect, { table: "printed" }).split(";\n")) {
          if (statement !== "") yield* sql.unsafe(statement).unprepared
        }
        yield* Layer.build(IdempotencyLedger.layerSql({ table: "printed", create: false }))
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)
  })
}

describe(`the ledger on ${redis.name}`, () => {
  const { address, fresh } = stores(redis)
  promises(redis, fresh)
  const place = () => address() as Extract<Address, { readonly kind: "redis" }>
  const live = (name: string, test: () => Effect.Effect<unknown, unknown, Redis.Redis>) =>
    it.live(name, () => Effect.provide(Effect.suspend(test), Layer.suspend(() => redisLayer(place().url))), 30_000)
  const ledger = () => IdempotencyLedger.layerRedis({ prefix: place().prefix })

  live("keeps what has no outcome, and forgets what has one by its time to live", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const { claimed, settle } = yield* claim(intent("a", "ttl"))
      const key = `${place().prefix}ttl`
      assert.strictEqual(yield* redis.send("PTTL", key), -1)
      if (claimed._tag === "Begun") yield* claimed.claim.complete(paid, Duration.minutes(1))
      const left = yield* redis.send<number>("PTTL", key)
      assert.isTrue(left > 30_000 && left <= 60_000, String(left))
      yield* settle
    }).pipe(Effect.provide(ledger())))

  live("refuses an entry that it cannot read, and leaves it as it is", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const key = `${place().prefix}corrupt`
      yield* redis.send("HSET", key, "intent", "{\"id\":7}", "claim", "x")
      const error = yield* Effect.flip(claim(intent("a", "corrupt")))
      assert.instanceOf(error, IdempotencyLedger.LedgerError)
      assert.deepInclude(error, { operation: "begin" })
      assert.deepStrictEqual(yield* redis.send("HGET", key, "intent"), "{\"id\":7}")
    }).pipe(Effect.provide(ledger())))

  live("keeps a tool from running where something else than an entry has its key", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const { state, tool } = paying()
      yield* tool("list").call.pipe(by({ amount: 1 }))
      const keys = yield* redis.send<ReadonlyArray<string>>("KEYS", `${place().prefix}*`)
      for (const key of keys) {
        yield* redis.send("DEL", key)
        yield* redis.send("RPUSH", key, "a list")
      }
      const error = yield* Effect.flip(tool("list").call.pipe(by({ amount: 1 }, "c2")))
      assert.strictEqual(error._tag, "LedgerUnavailable")
      assert.strictEqual(state.runs, 1)
      yield* redis.send("DEL", ...keys)
    }).pipe(Effect.provide(ledger())))

  live("goes on when the server has forgotten its scripts, as after a restart", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const before = yield* claim(intent("a", "before"))
      yield* redis.send("SCRIPT", "FLUSH")
      const after = yield* claim(intent("a", "after"))
      assert.strictEqual(after.claimed._tag, "Begun")
      yield* Effect.all([before.settle, after.settle])
    }).pipe(Effect.provide(ledger())))
})
