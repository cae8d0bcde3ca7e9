/** A lease: the requests to the store about a claim, and failed renewals. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"

interface Moment {
  readonly wall: number
  readonly monotonic: bigint
}

interface Lease {
  readonly start: (asked: Moment) => Effect.Effect<void>
  readonly confirm: Effect.Effect<boolean, string>
  readonly stop: Effect.Effect<void>
}

const { make, moment } = await import(new URL("../../src/internal/foundation/lease.ts", import.meta.url).href) as {
  readonly make: (duration: Duration.Duration, renew: Effect.Effect<boolean, string>) => Lease
  readonly moment: Effect.Effect<Moment>
}

/** A lease of half a minute over a store that gives these answers, and then that the claim holds. */
const leased = (...answers: ReadonlyArray<boolean | "broken">) => {
  const asked = { times: 0 }
  const lease = make(
    Duration.seconds(30),
    Effect.suspend(() => {
      const answer = answers[asked.times++] ?? true
      return answer === "broken" ? Effect.fail(answer) : Effect.succeed(answer)
    })
  )
  return { lease, asked }
}

const begun = (lease: Lease) => Effect.flatMap(moment, lease.start)

/** A process with configured clocks. */
const processAt = (wall: number, monotonic: number): Clock.Clock => ({
  currentTimeMillisUnsafe: () => wall,
  currentTimeNanosUnsafe: () => BigInt(wall) * 1_000_000n,
  monotonicTimeNanosUnsafe: () => BigInt(monotonic) * 1_000_000n,
  monotonicTimeNanos: Effect.succeed(BigInt(monotonic) * 1_000_000n),
  currentTimeMillis: Effect.succeed(wall),
  currentTimeNanos: Effect.succeed(BigInt(wall) * 1_000_000n),
  sleep: () => Effect.never
})

describe("whether a claim holds", () => {
  it.effect.each<readonly [wall: number, monotonic: number, isAsked: boolean]>([
    [0, 0, false],
    [19_999, 19_999, false],
    [20_000, 20_000, true],
    // The machine was suspended, or a clock was put right.
    [20_000, 0, true],
    [0, 20_000, true],
    [-3_600_000, 19_999, false],
    [-3_600_000, 20_000, true]
  ])(
    "is asked of the store where two thirds of the lease are over by one of both clocks: %i ms and %i ms, %s",
    ([wall, monotonic, isAsked]) =>
      Effect.gen(function*() {
        for (const isHeld of [true, false]) {
          const { asked, lease } = leased(isHeld)
          yield* lease.start({ wall: 0, monotonic: 0n })
          const holds = yield* Effect.provideService(lease.confirm, Clock.Clock, processAt(wall, monotonic))
          assert.deepStrictEqual([asked.times, holds], isAsked ? [1, isHeld] : [0, true])
          yield* lease.stop
        }
      })
  )

  it.effect("is not requested before the lease, nor shortly after a renewal", () =>
    Effect.gen(function*() {
      const { asked, lease } = leased()
      yield* lease.stop
      assert.isTrue(yield* lease.confirm)
      yield* begun(lease)
      yield* TestClock.adjust("39 seconds")
      assert.isTrue(yield* lease.confirm)
      assert.strictEqual(asked.times, 3)
      yield* lease.stop
    }))

  it.effect("is known after a lost renewal, without further store requests", () =>
    Effect.gen(function*() {
      const { asked, lease } = leased(false)
      yield* begun(lease)
      yield* TestClock.adjust("11 seconds")
      assert.isFalse(yield* lease.confirm)
      yield* TestClock.adjust("1 hour")
      assert.isFalse(yield* lease.confirm)
      assert.strictEqual(asked.times, 1)
    }))
})

describe("a renewal", () => {
  it.effect("that fails is tried again after another third of the lease", () =>
    Effect.gen(function*() {
      const { asked, lease } = leased("broken", "broken", true)
      yield* begun(lease)
      const times: Array<number> = []
      for (let third = 0; third < 4; third++) {
        yield* TestClock.adjust("10 seconds")
        times.push(asked.times)
      }
      assert.deepStrictEqual(times, [1, 2, 3, 4])
      yield* lease.stop
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(asked.times, 4)
    }))
})
