/** Time limits around uninterruptible effects: the caller is answered in time, and no fiber stays. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const { answerWithin } = await import(
  new URL("../../src/internal/foundation/effect/answerWithin.ts", import.meta.url).href
) as {
  readonly answerWithin: <A, E>(
    effect: Effect.Effect<A, E>,
    limit: Duration.Duration,
    orElse: () => Effect.Effect<A, E>
  ) => Effect.Effect<A, E>
}

const within = (effect: Effect.Effect<string>) =>
  answerWithin(effect, Duration.seconds(3), () => Effect.succeed("no answer"))

/** A clock that counts its sleepers: each takes a step to end when it is called off. */
const watched = Effect.map(Clock.Clock, (world) => {
  const sleepers = { now: 0, begun: 0 }
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => world.currentTimeMillisUnsafe(),
    currentTimeNanosUnsafe: () => world.currentTimeNanosUnsafe(),
    monotonicTimeNanosUnsafe: () => world.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: world.monotonicTimeNanos,
    currentTimeMillis: world.currentTimeMillis,
    currentTimeNanos: world.currentTimeNanos,
    sleep: (duration) =>
      Effect.suspend(() => {
        sleepers.begun++
        sleepers.now++
        return Effect.ensuring(
          world.sleep(duration),
          Effect.andThen(Effect.yieldNow, Effect.sync(() => sleepers.now--))
        )
      })
  }
  return { sleepers, watch: Effect.provideService(Clock.Clock, clock) }
})

describe("an effect with a time limit", () => {
  it.effect("that answers in time leaves no timer behind", () =>
    Effect.gen(function*() {
      const { sleepers, watch } = yield* watched
      const call = within(Effect.delay(Effect.succeed("an answer"), "1 second"))
      const fiber = yield* Effect.forkChild(watch(Effect.map(call, (answer) => [answer, sleepers.now])), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["an answer", 0])
      assert.strictEqual(sleepers.begun, 2)
    }))

  it.effect.each<readonly [what: string, endures: boolean]>([
    ["lets itself be interrupted", false],
    ["does not", true]
  ])(
    "that is called off leaves no timer behind, and its answer is not replaced any more: it %s",
    ([, endures]) =>
      Effect.gen(function*() {
        const { sleepers, watch } = yield* watched
        let replaced = 0
        const call = answerWithin(
          endures ? Effect.uninterruptible(Effect.never) : Effect.never,
          Duration.seconds(3),
          () => Effect.sync(() => replaced++)
        )
        const fiber = yield* Effect.forkChild(watch(call), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        assert.strictEqual(sleepers.now, 1)
        yield* Fiber.interrupt(fiber)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(sleepers.now, 0)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(replaced, 0)
      })
  )

  it.effect("that has its answer at once needs no timer", () =>
    Effect.gen(function*() {
      const { sleepers, watch } = yield* watched
      assert.strictEqual(yield* watch(within(Effect.succeed("an answer"))), "an answer")
      assert.strictEqual(sleepers.begun, 0)
    }))

  it.effect("is interrupted at its time limit", () =>
    Effect.gen(function*() {
      let isOver = false
      const endless = Effect.onInterrupt(Effect.never, () => Effect.sync(() => isOver = true))
      const fiber = yield* Effect.forkChild(within(endless), { startImmediately: true })
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), "no answer")
      assert.isTrue(isOver)
    }))

  it.effect("has a replacement answer at its limit, though uninterruptible", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(within(Effect.uninterruptible(Effect.never)), { startImmediately: true })
      yield* TestClock.adjust("2999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* Fiber.join(fiber), "no answer")
    }))
})
