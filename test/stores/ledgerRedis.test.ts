/** The idempotency ledger on Redis. */

import { IdempotencyLedger } from "@recourse/core"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { Redis } from "effect/persistence"
import { type Address, redisLayer } from "../support/connections.ts"
import { redis } from "../support/servers.ts"
import { by, claim, intent, paid, paying, promises, stores } from "../support/ledgerPromises.ts"

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

  live("continues when the server has forgotten its scripts, as after a restart", () =>
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const before = yield* claim(intent("a", "before"))
      yield* redis.send("SCRIPT", "FLUSH")
      const after = yield* claim(intent("a", "after"))
      assert.strictEqual(after.claimed._tag, "Begun")
      yield* Effect.all([before.settle, after.settle])
    }).pipe(Effect.provide(ledger())))
})
