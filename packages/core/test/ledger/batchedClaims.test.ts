/** Batched requests of a store that does many things at once. */

import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { IdempotencyLedger, StoreTimeout } from "@recourse/core"
import {
  claimed,
  claims,
  entry,
  type Found,
  found,
  intent,
  options,
  scripted,
  type Store
} from "../support/scriptedStore.ts"

describe("a store that does many things at once", () => {
  const many = (find: () => Effect.Effect<Found>) =>
    scripted({
      begin: () => find(),
      renewAll: (intents: ReadonlyArray<IdempotencyLedger.Intent>) =>
        Effect.succeed(new Set(intents.map(({ claim }) => claim).filter((claim) => claim !== "mine lost"))),
      find: (ids: ReadonlyArray<string>) =>
        Effect.map(find(), (found) => new Map(found === undefined ? [] : ids.map((id) => [id, found] as const)))
    })

  it.effect("is read while unchanged, and claimed once something is new", () =>
    Effect.gen(function*() {
      const outcome = { _tag: "Result", value: 1 } as const
      const { asked, store } = many(() =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => found(entry(60_000, now < 700 ? {} : { outcome })))
      )
      assert.deepInclude(yield* claimed(store, "3 seconds"), { _tag: "Finished", waited: true })
      const [first, ...others] = asked
      assert.strictEqual(first, "begin 0")
      assert.strictEqual(others.at(-1)!.split(" ")[0], "begin")
      assert.isAbove(others.length, 2)
      assert.isTrue(others.slice(0, -1).every((what) => what.startsWith("find")), String(asked))
    }))

  it.effect("is claimed if the entry is gone, another's, or expired", () =>
    Effect.gen(function*() {
      const now = Effect.map(Clock.currentTimeMillis, entry)
      const others = [
        Effect.undefined,
        Effect.succeed(entry(60_000, { claim: "a third one's" })),
        Effect.succeed(entry(1)),
        now
      ]
      for (const meanwhile of others) {
        const { asked, store } = many(() =>
          Effect.flatMap(
            Clock.currentTimeMillis,
            (now): Effect.Effect<Found> =>
              now % 10_000 < 20
                ? found(entry(now + 60_000))
                : Effect.flatMap(meanwhile, (entry) => entry === undefined ? Effect.undefined : found(entry))
          )
        )
        yield* TestClock.setTime(Math.ceil((yield* Clock.currentTimeMillis) / 10_000) * 10_000)
        asked.length = 0
        yield* claimed(store, "3500 millis")
        assert.deepStrictEqual(asked.slice(0, 3).map((what) => what.split(" ")[0]), ["begin", "find", "begin"])
      }
    }))

  it.effect("gives up at its limit, claiming the key a last time", () =>
    Effect.gen(function*() {
      const { asked, store } = many(() => found(entry(60_000)))
      assert.strictEqual((yield* claimed(store, "8 seconds"))._tag, "Busy")
      assert.deepStrictEqual(
        [asked[0], asked.at(-1)!.split(" ")[0], asked.filter((what) => what.startsWith("begin")).length],
        ["begin 0", "begin", 2]
      )
      // After 50 ms, and twice as long each time: 3 seconds are over at the seventh time.
      assert.strictEqual(asked.filter((what) => what.startsWith("find")).length, 7)
    }))

  it.effect("renews leases together, and an unnamed claim is lost", () =>
    Effect.gen(function*() {
      const { asked, store } = many(() => Effect.undefined)
      const { claim } = claims(store, options)
      const held = yield* Effect.forEach(["a", "b", "lost"], (id) => claim(intent(id), () => {}))
      for (let waited = 0; waited < 9_000; waited += 10) yield* TestClock.adjust("10 millis")
      const confirmed = yield* Effect.forkChild(
        Effect.forEach(held, ({ claim }) => claim!.confirm, { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      for (let waited = 0; waited < 1_000; waited += 10) yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(yield* Fiber.join(confirmed), [true, true, false])
      const renewals = asked.filter((what) => what.startsWith("renewAll"))
      assert.isAtLeast(renewals.length, 1)
      assert.strictEqual(new Set(renewals).size, renewals.length, "one statement at a time")
      assert.isFalse(asked.some((what) => what.startsWith("renew ")))
    }))

  it.effect("is not read if it can batch only one of both", () =>
    Effect.gen(function*() {
      for (const missing of ["find", "renewAll"] as const) {
        const { asked, store } = many(() => found(entry(60_000)))
        assert.strictEqual((yield* claimed({ ...store, [missing]: undefined }, "4 seconds"))._tag, "Busy")
        assert.deepStrictEqual([...new Set(asked.map((what) => what.split(" ")[0]))], ["begin"])
      }
    }))

  it.effect("reads two hundred entries at once, each with its own answer", () =>
    Effect.gen(function*() {
      const outcome = { _tag: "Result", value: 1 } as const
      const read: Array<number> = []
      let isDone = false
      const of = (id: string) => ({
        ...entry(60_000, isDone && id === "a7" ? { outcome } : {}),
        ...intent(id, "theirs")
      })
      const { store } = many(() => Effect.undefined)
      const { claim } = claims({
        ...store,
        begin: ({ id }) => Effect.suspend(() => found(of(id))),
        find: (ids) =>
          Effect.suspend(() => {
            read.push(ids.length)
            return Effect.succeed(new Map(ids.map((id) => [id, { entry: of(id), now: 0 }])))
          })
      }, options)
      const waiting = yield* Effect.forEach(
        Array.from({ length: 250 }, (_, n) => `a${n}`),
        (id) => Effect.forkChild(claim(intent(id), () => {}), { startImmediately: true })
      )
      for (let waited = 0; waited < 120; waited += 10) yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(read, [200, 50])
      isDone = true
      for (let waited = 0; waited < 500; waited += 10) yield* TestClock.adjust("10 millis")
      const ended = waiting.map((fiber) => fiber.pollUnsafe())
      assert.deepStrictEqual(ended.flatMap((exit, n) => exit === undefined ? [] : [n]), [7])
      yield* Fiber.interruptAll(waiting)
    }))

  it.effect("runs four operations of a kind; starts do not delay ends", () =>
    Effect.gen(function*() {
      const open = Effect.runSync(Deferred.make<void>())
      const under = { begin: 0, complete: 0, release: 0, take: 0 }
      const slow = <A>(kind: keyof typeof under, answer: A) =>
        Effect.suspend(() => {
          under[kind]++
          return Effect.as(Deferred.await(open), answer)
        })
      const { store } = many(() => Effect.undefined)
      const state = { isSlow: false }
      const { claim } = claims({
        ...store,
        begin: (intent) =>
          state.isSlow ? slow("begin", undefined) : intent.id === "left" ? found(entry(-1, intent)) : Effect.undefined,
        take: () => slow("take", true),
        complete: () => slow("complete", "recorded" as const),
        release: () => slow("release", undefined)
      }, options)
      const left = yield* claim({ ...intent("left"), claim: "mine" }, () => {})
      const held = yield* Effect.forEach(Array.from({ length: 6 }), (_, n) => claim(intent(`held ${n}`), () => {}))
      state.isSlow = true
      const begun = yield* Effect.forEach(
        Array.from({ length: 6 }),
        (_, n) => Effect.forkChild(claim(intent(`new ${n}`), () => {}), { startImmediately: true })
      )
      const outcome = { _tag: "Result", value: 1 } as const
      const ended = yield* Effect.forEach(held, ({ claim }, n) =>
        Effect.forkChild(
          n === 0 ? Effect.as(claim!.release, "released") : claim!.complete(outcome, Duration.hours(1)),
          { startImmediately: true }
        ))
      assert.deepStrictEqual(under, { begin: 4, complete: 3, release: 1, take: 0 })
      yield* Deferred.succeed(open, undefined)
      assert.deepStrictEqual(yield* Fiber.joinAll(ended), ["released", ...Array.from({ length: 5 }, () => "recorded")])
      assert.deepStrictEqual(
        (yield* Fiber.joinAll(begun)).map(({ _tag }) => _tag),
        Array.from({ length: 6 }, () => "Begun")
      )
      assert.isTrue(yield* left.claim!.take(entry(-1)))
      assert.deepStrictEqual(under, { begin: 6, complete: 5, release: 1, take: 1 })
    }))

  it.effect("is called again for unanswered requests, within its time limit", () =>
    Effect.gen(function*() {
      const broken = (operation: "renew" | "find") =>
        new IdempotencyLedger.LedgerError({ operation, reason: "reset", isTransient: true })
      const state = { left: 2 }
      const flaky = many(() => Effect.undefined).store
      const outcome = { _tag: "Result", value: 1 } as const
      const { store } = many(() =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => found(entry(60_000, now < 300 ? {} : { outcome })))
      )
      const reading: Store = {
        ...store,
        find: (ids) => Effect.suspend(() => state.left-- > 0 ? Effect.fail(broken("find")) : store.find!(ids))
      }
      assert.strictEqual((yield* claimed(reading, "3 seconds"))._tag, "Finished")
      for (
        const [renewAll, holds] of [
          [() => state.left-- > 0 ? Effect.fail(broken("renew")) : Effect.succeed(new Set(["mine a"])), true],
          [() => Effect.never, undefined]
        ] as const
      ) {
        state.left = 2
        const { claim } = yield* claims({ ...flaky, renewAll }, options).claim(intent("a"), () => {})
        yield* TestClock.adjust("9 seconds")
        const confirmed = yield* Effect.forkChild(Effect.option(claim!.confirm), { startImmediately: true })
        for (let waited = 0; waited < 3_000; waited += 50) yield* TestClock.adjust("50 millis")
        assert.strictEqual(Option.getOrUndefined(yield* Fiber.join(confirmed)), holds)
      }
    }).pipe(Effect.provide(StoreTimeout.layer("2 seconds"))))
})
