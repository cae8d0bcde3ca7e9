/** The time limit of a wait behaves like `Effect.timeoutOrElse`, with the default clock and with any other. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"

type LimitTime = <A, E, R, E2>(
  effect: Effect.Effect<A, E, R>,
  millis: number,
  orElse: () => Effect.Effect<A, E2>
) => Effect.Effect<A, E | E2, R>

const { limitTime } = await import(
  new URL("../../src/internal/foundation/effect/limitTime.ts", import.meta.url).href
) as {
  readonly limitTime: LimitTime
}

const limit = 10
const limits: Readonly<Record<string, LimitTime>> = {
  effect: (effect, millis, orElse) => Effect.timeoutOrElse(effect, { duration: millis, orElse }),
  ours: limitTime
}

/** The limited effect; it records its events. */
const limited: Readonly<Record<string, (log: Array<string>) => Effect.Effect<string, string>>> = {
  "a value": () => Effect.succeed("value"),
  "a failure": () => Effect.fail("failure"),
  "a defect": () => Effect.die("defect"),
  "an interruption of itself": () => Effect.interrupt,
  "a value in time": () => Effect.as(Effect.sleep(limit / 2), "value"),
  "a failure in time": () => Effect.andThen(Effect.sleep(limit / 2), Effect.fail("failure")),
  "a wait": (log) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void log.push("interrupted"))),
  "a wait that is slow to end": (log) =>
    Effect.onInterrupt(Effect.never, () => Effect.andThen(Effect.sleep(2), Effect.sync(() => void log.push("late")))),
  "a wait that cannot be interrupted": (log) =>
    Effect.uninterruptible(Effect.andThen(Effect.sleep(limit + 2), Effect.sync(() => (log.push("ended"), "value"))))
}

const outcome = (exit: Exit.Exit<string, string>): unknown =>
  Exit.isSuccess(exit) ?
    exit.value :
    exit.cause.reasons.map((reason) =>
      Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : reason._tag
    )

/** Runs it to its end, or interrupts it before. */
const observe = Effect.fnUntraced(function*(
  limitBy: LimitTime,
  make: (log: Array<string>) => Effect.Effect<string, string>,
  isInterrupted: boolean,
  pass: (millis: number) => Effect.Effect<void>
) {
  const log: Array<string> = []
  const orElse = Effect.sync(() => (log.push("otherwise"), "too late"))
  const fiber = yield* Effect.forkChild(limitBy(make(log), limit, () => orElse), { startImmediately: true })
  yield* pass(3)
  if (isInterrupted) yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
  yield* pass(limit * 2)
  return [outcome(yield* Fiber.await(fiber)), log]
})

describe.each(Object.entries(limited))("%s", (_, make) => {
  for (const isInterrupted of [false, true]) {
    const what = isInterrupted ? "interrupted from outside" : "run to its end"
    it.effect(`${what} ends as with Effect.timeoutOrElse, in virtual time`, () =>
      Effect.gen(function*() {
        const pass = (millis: number) =>
          Effect.forEach(Array.from({ length: millis }), () => TestClock.adjust(1), { discard: true })
        const seen = yield* Effect.forEach(Object.values(limits), (by) => observe(by, make, isInterrupted, pass))
        assert.deepStrictEqual(seen[1], seen[0])
      }))

    it.live(`${what} ends as with Effect.timeoutOrElse, by the clock`, () =>
      Effect.gen(function*() {
        const pass = (millis: number) => Effect.sleep(millis)
        const seen = yield* Effect.all(
          Object.values(limits).map((by) => observe(by, make, isInterrupted, pass)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(seen[1], seen[0])
      }))
  }
})

it.live("a limit beyond the platform's longest timer does not end at once", () =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(limitTime(Effect.never, 2 ** 40, () => Effect.succeed("too late")))
    yield* Effect.sleep(5)
    assert.isUndefined(fiber.pollUnsafe())
    yield* Fiber.interrupt(fiber)
  }))
