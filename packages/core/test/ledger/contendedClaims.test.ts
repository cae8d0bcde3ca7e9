/** Rules of claims that meet an entry of another process: their next look, their answers, and batched requests. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { IdempotencyLedger } from "@recourse/core"
import { claimed, claims, entry, type Found, found, intent, options, scripted } from "../support/scriptedStore.ts"

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
