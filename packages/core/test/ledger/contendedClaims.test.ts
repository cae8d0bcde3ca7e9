/** Rules of claims that meet an entry of another process: their next look, their answers, and batched requests. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { IdempotencyLedger, StoreTimeout } from "@recourse/core"

type Store = IdempotencyLedger.Store
type Found = Effect.Success<ReturnType<Store["begin"]>>

interface Claimed {
  readonly _tag: "Begun" | "Conflict" | "Finished" | "Busy" | "Abandoned"
  readonly sinceMillis?: number
  readonly waited?: boolean
  readonly claim?: IdempotencyLedger.Claim
}

const { claims } = await import(
  new URL("../../src/internal/idempotency/claims.ts", import.meta.url).href
) as {
  readonly claims: (
    store: Store,
    options: { readonly lease?: Duration.Duration; readonly waitFor: Duration.Duration }
  ) => {
    readonly claim: (
      intent: IdempotencyLedger.Intent,
      onHeld: (settle: Effect.Effect<void>) => void
    ) => Effect.Effect<Claimed, IdempotencyLedger.LedgerError>
  }
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

/** A store without behaviour, except for a test's; it records its requests with their times. */
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
    const fiber = yield* Effect.forkChild(claims(store, options).claim(of, () => {}), { startImmediately: true })
    for (let waited = 0; waited < Duration.toMillis(passing); waited += 10) {
      yield* TestClock.adjust("10 millis")
    }
    return yield* Fiber.join(fiber)
  })

describe("a claim whose key another process holds", () => {
  it.effect("retries after 50 ms, doubling up to a second, until its limit", () =>
    Effect.gen(function*() {
      const { asked, store } = scripted({ begin: () => found(entry(60_000)) })
      const outcome = yield* claimed(store, "4 seconds")
      assert.deepInclude(outcome, { _tag: "Busy", sinceMillis: 5_000 })
      assert.deepStrictEqual(asked, [0, 50, 150, 350, 750, 1550, 2550, 3000].map((at) => `begin ${at}`))
    }))

  it.effect("retries exactly at the lease's end: then it is abandoned", () =>
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

  it.effect("of this process: equal calls wait, other arguments conflict", () =>
    Effect.gen(function*() {
      const { asked, store } = scripted({})
      const { claim } = claims(store, options)
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

  it.effect("of this process: an end admits no call waiting for the next", () =>
    Effect.gen(function*() {
      let other = true
      const { asked, store } = scripted({ begin: () => other ? found(entry(60_000)) : Effect.undefined })
      const { claim } = claims(store, options)
      let settle: Effect.Effect<void> = Effect.void
      assert.strictEqual((yield* claim(intent("a", "first", "other"), (effect) => settle = effect))._tag, "Conflict")
      other = false
      assert.strictEqual((yield* claim(intent("a", "second"), () => {}))._tag, "Begun")
      yield* settle
      const third = yield* Effect.forkChild(claim(intent("a", "third"), () => {}), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(third.pollUnsafe())
      assert.strictEqual(asked.filter((what) => what.startsWith("begin")).length, 2)
      yield* Fiber.interrupt(third)
    }))
})

describe("a claim whose key it holds itself", () => {
  const outcome = { _tag: "Result", value: 1 } as const

  it.effect("starts after a lost first answer, with an earlier execution's record", () =>
    Effect.gen(function*() {
      for (const [change, tag] of [[{}, "Begun"], [{ outcome }, "Finished"]] as const) {
        const { store } = scripted({ begin: () => found(entry(60_000, { claim: "mine a", ...change })) })
        assert.strictEqual((yield* claimed(store, 0))._tag, tag)
      }
    }))
})

describe("an entry of a claim that got no answer", () => {
  const lost = new IdempotencyLedger.LedgerError({ operation: "begin", reason: "no answer" })
  const begins = (asked: ReadonlyArray<string>) => asked.filter((what) => !what.startsWith("renew"))

  /** A store that records starts, and does not answer the first claims. */
  const silent = (outcome?: IdempotencyLedger.Outcome) => {
    const entries = new Map<string, NonNullable<Found>["entry"]>()
    const made = scripted({
      begin: (intent) =>
        Effect.suspend((): Effect.Effect<Found, IdempotencyLedger.LedgerError> => {
          const kept = entries.get(intent.id)
          if (kept !== undefined) return found(kept)
          if (intent.claim === "late") return Effect.undefined
          entries.set(intent.id, entry(60_000, { ...intent, ...(outcome === undefined ? undefined : { outcome }) }))
          return Effect.fail(lost)
        }),
      release: ({ claim, id }) =>
        Effect.sync(() => {
          if (claim !== "late" && entries.get(id)?.claim === claim) entries.delete(id)
        })
    })
    return { ...made, entries }
  }
  const noSettle = () => {}

  it.effect("is released, because no call ran under it", () =>
    Effect.gen(function*() {
      const { asked, store } = silent()
      const { claim } = claims(store, options)
      let settle: Effect.Effect<void> = Effect.void
      yield* Effect.flip(claim(intent("a"), (effect) => settle = effect))
      yield* Effect.ignoreCause(settle)
      assert.strictEqual((yield* claim(intent("a", "late"), noSettle))._tag, "Begun")
      assert.deepStrictEqual(begins(asked), ["begin 0", "release 0", "begin 0"])
    }))

  it.effect("is answered with its outcome of another execution of its run", () =>
    Effect.gen(function*() {
      const { asked, store } = silent({ _tag: "Result", value: 1 })
      const { claim } = claims({ ...store, release: () => Effect.void }, options)
      let settle: Effect.Effect<void> = Effect.void
      yield* Effect.flip(claim(intent("a"), (effect) => settle = effect))
      yield* settle
      assert.strictEqual((yield* claim(intent("a", "late"), noSettle))._tag, "Finished")
      assert.deepStrictEqual(begins(asked), ["begin 0", "begin 0"])
    }))

  it.effect("is remembered with the last ten thousand of them", () =>
    Effect.gen(function*() {
      const entries = new Map<string, NonNullable<Found>["entry"]>()
      // No request to release arrives before the store has recovered.
      const state = { isDown: true }
      const down = Effect.fail(lost)
      const { claim } = claims({
        ...scripted({}).store,
        begin: (intent) =>
          Effect.suspend((): Effect.Effect<Found, IdempotencyLedger.LedgerError> => {
            const kept = entries.get(intent.id)
            if (!state.isDown) return kept === undefined ? Effect.undefined : Effect.succeed({ entry: kept, now: 0 })
            entries.set(intent.id, entry(60_000, intent))
            return down
          }),
        release: ({ id }) => state.isDown ? down : Effect.sync(() => void entries.delete(id))
      }, options)
      const asked = (id: string) => {
        let settle: Effect.Effect<void> = Effect.void
        return Effect.flip(claim(intent(id), (effect) => settle = effect)).pipe(Effect.andThen(() => settle))
      }
      for (const id of ["0", "1", "2"]) yield* asked(id)
      for (let id = 3; id < 10_000; id++) yield* Effect.exit(claim(intent(String(id)), noSettle))
      yield* asked("0")
      yield* asked("the one too many")
      state.isDown = false
      for (const [id, tag] of [["0", "Begun"], ["1", undefined], ["2", "Begun"]] as const) {
        const late = yield* Effect.forkChild(claim(intent(id, "late"), noSettle), { startImmediately: true })
        const exit = late.pollUnsafe()
        assert.strictEqual(exit?._tag === "Success" ? exit.value._tag : undefined, tag, id)
        yield* Fiber.interrupt(late)
      }
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
