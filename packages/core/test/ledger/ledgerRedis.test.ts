/** The ledger over the `Redis` service: which errors of the server pass, and which servers it refuses. */
import { assert, describe, it } from "@effect/vitest"
import { Drive } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Option, Schema } from "effect"
import { Redis } from "effect/persistence"
import { ConfigurationError, IdempotencyLedger, Tool } from "@recourse/core"
import { by, collectLogs } from "../support/kit.ts"

/** A server with a test's answers, and its ledger. */
const ledgerOn = (
  server: { readonly config?: unknown; readonly answer?: () => Effect.Effect<unknown, Redis.RedisError> },
  options?: { readonly allowEviction?: boolean }
) => {
  const { answer = () => Effect.succeed(null), config = ["maxmemory-policy", "noeviction"] } = server
  return IdempotencyLedger.layerRedis(options).pipe(Layer.provide(Layer.mock(Redis.Redis, {
    send: <A>() => config instanceof Redis.RedisError ? Effect.fail(config) : Effect.succeed(config as A),
    eval: () => () => Effect.suspend(answer) as Effect.Effect<never, Redis.RedisError>
  })))
}

describe("an error of the server", () => {
  const codes = ["BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "NOREPLICAS", "READONLY", "TRYAGAIN"]
  const causes: ReadonlyArray<readonly [cause: unknown, passes: boolean]> = [
    ...codes.map((code) => [new Error(`${code} for a while`), true] as const),
    // No code of the server's: the connection broke.
    [new Error("Socket closed unexpectedly"), true],
    [new Error("The server said WRONGTYPE before it was gone"), true],
    [new Error("WRONGTYPE Operation against a key holding the wrong kind of value"), false],
    [new Error("NOAUTH Authentication required."), false],
    ["LOADING", false]
  ]
  for (const [cause, passes] of causes) {
    it.effect(`${passes ? "passes, and the call is made once" : "stays, and no call runs"}: ${String(cause)}`, () => {
      let asked = 0
      let runs = 0
      const pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        idempotency: { key: () => "k" },
        execute: () => Effect.sync(() => (runs++, "paid"))
      })
      const failure = new Redis.RedisError({ cause })
      const ledger = ledgerOn({ answer: () => ++asked < 3 ? Effect.fail(failure) : Effect.succeed(null) })
      return Effect.gen(function*() {
        const exit = yield* Drive.drive(Effect.exit(pay.call.pipe(by({}), Effect.provide(ledger))))
        if (passes) assert.deepStrictEqual([exit, runs], [Exit.succeed("paid"), 1])
        else {
          const error = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none()
          assert.strictEqual(Option.getOrUndefined(error)?._tag, "LedgerUnavailable")
          // Called a second time, to release a possible record.
          assert.deepStrictEqual([asked, runs], [2, 0])
        }
      })
    })
  }

  it.effect("has the operation that failed and why", () =>
    Effect.gen(function*() {
      const failure = new Redis.RedisError({ cause: new Error("NOPERM this user has no permissions") })
      const intent = { id: "k", tool: "pay", callId: "c", arguments: "h", claim: "a" }
      const { forget } = yield* IdempotencyLedger.IdempotencyLedger.pipe(
        Effect.provide(ledgerOn({ answer: () => Effect.fail(failure) }))
      )
      const error = yield* Effect.flip(forget(intent))
      assert.deepStrictEqual([error.operation, error.reason, error.isTransient], ["renew", failure, undefined])
    }))
})

describe("a server", () => {
  const build = (config: unknown, allowEviction = false) =>
    Effect.exit(Effect.scoped(Layer.build(ledgerOn({ config }, { allowEviction }))))

  it.effect("that evicts results when full is refused, unless allowed by name", () =>
    Effect.gen(function*() {
      for (const answer of [["maxmemory-policy", "volatile-lru"], { "maxmemory-policy": "allkeys-lru" }]) {
        const exit = yield* build(answer)
        const error = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none()
        assert.instanceOf(Option.getOrUndefined(error), ConfigurationError.ConfigurationError)
        assert.include(String(Option.getOrUndefined(error)), Object.values(answer).at(-1)!)
        assert.isTrue(Exit.isSuccess(yield* build(answer, true)))
      }
    }))

  it.effect("that evicts is refused by a layer without options too", () =>
    Effect.gen(function*() {
      const redis = Layer.mock(Redis.Redis, {
        send: <A>() => Effect.succeed(["maxmemory-policy", "allkeys-lru"] as A),
        eval: () => () => Effect.die("nothing is asked of a server that is refused")
      })
      const exit = yield* Effect.exit(
        Effect.scoped(Layer.build(IdempotencyLedger.layerRedis().pipe(Layer.provide(redis))))
      )
      const error = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none()
      assert.instanceOf(Option.getOrUndefined(error), ConfigurationError.ConfigurationError)
    }))

  it.effect("holds keys behind a prefix, the program's own or the library's", () =>
    Effect.gen(function*() {
      for (const [prefix, expected] of [[undefined, "recourse:idempotency:k"], ["mine:", "mine:k"]] as const) {
        const asked: Array<unknown> = []
        const redis = Layer.mock(Redis.Redis, {
          send: <A>() => Effect.succeed(["maxmemory-policy", "noeviction"] as A),
          eval: () => (...args: ReadonlyArray<unknown>) => Effect.sync(() => (asked.push(...args), null)) as never
        })
        const ledger = IdempotencyLedger.layerRedis({ prefix }).pipe(Layer.provide(redis))
        yield* Effect.flatMap(IdempotencyLedger.IdempotencyLedger, ({ forget }) =>
          forget({ id: "k", tool: "pay", callId: "c", arguments: "h", claim: "a" })).pipe(Effect.provide(ledger))
        assert.include(JSON.stringify(asked), JSON.stringify(expected))
      }
    }))

  it.effect("that evicts no results is used without a log", () =>
    Effect.gen(function*() {
      for (const answer of [["maxmemory-policy", "noeviction"], { "maxmemory-policy": "noeviction" }]) {
        const { layer, messages } = collectLogs()
        assert.isTrue(Exit.isSuccess(yield* build(answer).pipe(Effect.provide(layer))))
        assert.deepStrictEqual(messages, [])
      }
    }))

  it.effect("without a reported policy is used, and that is logged", () =>
    Effect.gen(function*() {
      const denied = new Redis.RedisError({ cause: new Error("ERR unknown command 'CONFIG'") })
      for (const answer of [[], {}, null, "OK", ["maxmemory-policy", 7], denied]) {
        const { layer, messages } = collectLogs()
        assert.isTrue(Exit.isSuccess(yield* build(answer).pipe(Effect.provide(layer))), JSON.stringify(answer))
        assert.strictEqual(messages.length, 1)
        assert.include(messages[0], "maxmemory-policy")
      }
    }))
})
