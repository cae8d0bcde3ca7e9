/** Rules of claims that meet an entry of another process: when they look again, what they answer, what is asked together. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { IdempotencyLedger } from "@recourse/core"

type Store = IdempotencyLedger.Store
type Found = Effect.Success<ReturnType<Store["begin"]>>

interface Claimed {
  readonly _tag: "Begun" | "Conflict" | "Finished" | "Busy" | "Abandoned"
  readonly sinceMillis?: number
  readonly waited?: boolean
  readonly claim?: { readonly confirm: Effect.Effect<boolean, unknown> }
}

const { claims } = await import(
  new URL("../src/internal/idempotency/claims.ts", import.meta.url).href
) as {
  readonly claims: (
    store: Store,
    options: { readonly lease?: Duration.Duration; readonly waitFor: Duration.Duration }
  ) => (
    intent: IdempotencyLedger.Intent,
    onHeld: (settle: Effect.Effect<void>) => void
  ) => Effect.Effect<Claimed, IdempotencyLedger.LedgerError>
}

const intent = (id: string, claim = `mine ${id}`, args = "hash") => ({
  id,
  tool: "pay",
  callId: id,
  arguments: args,
  claim
})

/** An entry of another process, at work until a time. */
const entry = (leasedUntil: number, change: object = {}) =>
  ({ ...intent("a", "theirs"), startedAt: -2_000, leasedUntil, ...change }) as unknown as NonNullable<Found>["entry"]

/** A store that does nothing, but for what a test says; it notes when it is asked what. */
const scripted = (parts: Partial<Store>) => {
  const asked: Array<string> = []
  const noted =
    <A extends ReadonlyArray<never>, B, E>(name: string, operation: (...args: A) => Effect.Effect<B, E>) =>
    (...args: A) => Effect.flatMap(Clock.currentTimeMillis, (now) => (asked.push(`${name} ${now}`), operation(...args)))
  const store: Store = {
    begin: () => Effect.undefined,
    renew: () => Effect.succeed(true),
    take: () => Effect.succeed(true),
    complete: () => Effect.succeed("recorded" as const),
    release: () => Effect.void,
    ...parts
  }
  return {
    asked,
    store: Object.fromEntries(
      Object.entries(store).map(([name, operation]) => [name, noted(name, operation as never)])
    ) as unknown as Store
  }
}

const found = (entry: NonNullable<Found>["entry"]) =>
  Effect.map(Clock.currentTimeMillis, (now): NonNullable<Found> => ({ entry, now }))

const options = { lease: Duration.seconds(10), waitFor: Duration.seconds(3) }

const claimed = (store: Store, passing: Duration.Input, of = intent("a")) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(claims(store, options)(of, () => {}), { startImmediately: true })
    for (let waited = 0; waited < Duration.toMillis(passing); waited += 10) {
      yield* TestClock.adjust("10 millis")
    }
    return yield* Fiber.join(fiber)
  })

describe("a claim whose key another process holds", () => {
  it.effect("asks again after 50 ms, and twice as long each time up to a second, until its time is over", () =>
    Effect.gen(function*() {
      const { asked, store } = scripted({ begin: () => found(entry(60_000)) })
      const outcome = yield* claimed(store, "4 seconds")
      assert.deepInclude(outcome, { _tag: "Busy", sinceMillis: 5_000 })
      assert.deepStrictEqual(asked, [0, 50, 150, 350, 750, 1550, 2550, 3000].map((at) => `begin ${at}`))
    }))

  it.effect("asks when the lease has run out, and not later: then it is abandoned", () =>
    Effect.gen(function*() {
      const { asked, store } = scripted({ begin: () => found(entry(120)) })
      assert.strictEqual((yield* claimed(store, "1 second"))._tag, "Abandoned")
      assert.deepStrictEqual(asked, ["begin 0", "begin 50", "begin 120"])
    }))

  it.effect("has the outcome that was recorded meanwhile, and says that it waited", () =>
    Effect.gen(function*() {
      let begins = 0
      const outcome = { _tag: "Result", value: 1 } as const
      const { store } = scripted({ begin: () => found(entry(60_000, begins++ === 0 ? {} : { outcome })) })
      assert.deepInclude(yield* claimed(store, "1 second"), { _tag: "Finished", waited: true, sinceMillis: 2_050 })
      const { store: done } = scripted({ begin: () => found(entry(60_000, { outcome })) })
      assert.deepInclude(yield* claimed(done, "1 second"), { _tag: "Finished", waited: false, sinceMillis: 3_000 })
    }))

  it.effect("of other arguments is a conflict, at once", () =>
    Effect.gen(function*() {
      const { asked, store } = scripted({ begin: () => found(entry(60_000)) })
      assert.strictEqual((yield* claimed(store, 0, intent("a", "mine", "other")))._tag, "Conflict")
      assert.strictEqual(asked.length, 1)
    }))

  it.effect("of this process: another call of the same key waits, and one of other arguments is a conflict", () =>
    Effect.gen(function*() {
      const { asked, store } = scripted({})
      const claim = claims(store, options)
      let settle: Effect.Effect<void> = Effect.void
      yield* claim(intent("a", "first"), (effect) => settle = effect)
      assert.strictEqual((yield* claim(intent("a", "second", "other"), () => {}))._tag, "Conflict")
      const third = yield* Effect.forkChild(claim(intent("a", "third"), () => {}), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(third.pollUnsafe())
      assert.deepStrictEqual(asked.filter((what) => what.startsWith("begin")), ["begin 0"])
      yield* settle
      assert.strictEqual((yield* Fiber.join(third))._tag, "Begun")
    }))
})

describe("a store that does many things at once", () => {
  const many = (find: () => Effect.Effect<Found>) =>
    scripted({
      begin: () => find(),
      renewAll: (intents: ReadonlyArray<IdempotencyLedger.Intent>) =>
        Effect.succeed(new Set(intents.map(({ claim }) => claim).filter((claim) => claim !== "mine lost"))),
      find: (ids: ReadonlyArray<string>) =>
        Effect.map(find(), (found) => new Map(found === undefined ? [] : ids.map((id) => [id, found] as const)))
    })

  it.effect("is only read while nothing is new, and asked for the key once something is", () =>
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

  it.effect("is asked for the key where the entry is gone, is another one's, or its lease has run out", () =>
    Effect.gen(function*() {
      for (const meanwhile of [undefined, entry(60_000, { claim: "a third one's" }), entry(1)]) {
        const { asked, store } = many(() =>
          Effect.flatMap(
            Clock.currentTimeMillis,
            (now): Effect.Effect<Found> =>
              now % 10_000 < 20
                ? found(entry(now + 60_000))
                : meanwhile === undefined
                ? Effect.undefined
                : found(meanwhile)
          )
        )
        yield* TestClock.setTime(Math.ceil((yield* Clock.currentTimeMillis) / 10_000) * 10_000)
        asked.length = 0
        yield* claimed(store, "3500 millis")
        assert.deepStrictEqual(asked.slice(0, 3).map((what) => what.split(" ")[0]), ["begin", "find", "begin"])
      }
    }))

  it.effect("gives up when its time is over, asking for the key a last time", () =>
    Effect.gen(function*() {
      const { asked, store } = many(() => found(entry(60_000)))
      assert.strictEqual((yield* claimed(store, "8 seconds"))._tag, "Busy")
      assert.deepStrictEqual(
        [asked[0], asked.at(-1)!.split(" ")[0], asked.filter((what) => what.startsWith("begin")).length],
        ["begin 0", "begin", 2]
      )
    }))

  it.effect("renews leases together, and a claim that it does not name is lost", () =>
    Effect.gen(function*() {
      const { asked, store } = many(() => Effect.undefined)
      const claim = claims(store, options)
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
})
