/** Decisions about a failed model call: again, a substitute answer, or the failure. */

import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Schedule } from "effect"
import { AiError } from "effect/ai"
import { TestClock } from "effect/testing"
import { ModelError } from "@recourse/core"
import { room } from "../support/answeringModels.ts"

interface RetryNotice {
  readonly error: AiError.AiError
  readonly retry: number
  readonly delay: Duration.Duration
  readonly until: number
}

interface Waits {
  readonly mayRetry: boolean
  readonly mayRestart?: boolean
  readonly until?: number
  readonly hasTime: (millis: number) => boolean
  readonly onRetry: (notice: RetryNotice) => Effect.Effect<void>
}

type Decided = ModelError.Decision<unknown>

const { consult, isSubstitute } = await import(new URL("modelDecision.ts", room).href) as {
  readonly consult: (
    handler: ModelError.Handler<unknown, never, never>,
    failures: ReadonlyArray<{ readonly error: AiError.AiError; readonly at: number }>,
    options: Waits
  ) => Effect.Effect<Decided | "again", AiError.AiError>
  readonly isSubstitute: (answer: object) => boolean
}

describe("decisions about a failed call", () => {
  const error = (retryAfter?: Duration.Input) =>
    AiError.make({
      module: "T",
      method: "m",
      reason: new AiError.RateLimitError({
        retryAfter: retryAfter === undefined ? undefined : Duration.fromInputUnsafe(retryAfter)
      })
    })

  interface Case {
    readonly decision: Decided | Effect.Effect<Decided>
    readonly failures?: number
    readonly retryAfter?: Duration.Input
    readonly options?: Partial<Waits>
    /** Milliseconds until the next call; absent: the error passes. */
    readonly waits: number | undefined
  }

  const every = (times: number, more: object = {}) =>
    ModelError.retry({ times, schedule: Schedule.spaced("100 millis"), ...more })

  const cases: Readonly<Record<string, Case>> = {
    "the error continues": { decision: ModelError.rethrow, waits: undefined },
    "once more": { decision: every(1), waits: 100 },
    "as an effect": { decision: Effect.succeed(every(1)), waits: 100 },
    "the last of two": { decision: every(2), failures: 2, waits: 100 },
    "no more": { decision: every(2), failures: 3, waits: undefined },
    "never": { decision: every(0), waits: undefined },
    "a part was heard": { decision: every(1), options: { mayRetry: false }, waits: undefined },
    "a part was heard, and can be forgotten": {
      decision: every(1, { restart: true }),
      options: { mayRetry: false, mayRestart: true },
      waits: 100
    },
    "a part was heard, and cannot be forgotten": {
      decision: every(1, { restart: true }),
      options: { mayRetry: false, mayRestart: false },
      waits: undefined
    },
    "a part was heard, and nobody says that it can be forgotten": {
      decision: every(1, { restart: true }),
      options: { mayRetry: false },
      waits: undefined
    },
    "a part was heard, and is not to be forgotten": {
      decision: every(1),
      options: { mayRetry: false, mayRestart: true },
      waits: undefined
    },
    "the server asks for longer": { decision: every(1), retryAfter: "2 seconds", waits: 2_000 },
    "the server asks for less": { decision: every(1), retryAfter: "50 millis", waits: 100 },
    "the server asks for as long as may be": { decision: every(1), retryAfter: "60 seconds", waits: 60_000 },
    "the server asks for too long": { decision: every(1), retryAfter: "60001 millis", waits: undefined },
    "the server asks for longer than this program waits": {
      decision: every(1, { maxRetryAfter: "1 second" }),
      retryAfter: "2 seconds",
      waits: undefined
    },
    "there is no time for it": {
      decision: every(1),
      options: { hasTime: (millis) => millis < 100 },
      waits: undefined
    },
    "there is just the time": {
      decision: every(1),
      options: { hasTime: (millis) => millis <= 100 },
      waits: 100
    },
    "the schedule has ended": {
      decision: ModelError.retry({ times: 5, schedule: Schedule.recurs(1) }),
      failures: 2,
      waits: undefined
    },
    "the schedule says no wait": { decision: ModelError.retry({ times: 5, schedule: Schedule.recurs(5) }), waits: 0 },
    "an earlier life has begun to wait": { decision: every(1), options: { until: 1_030 }, waits: 30 },
    "an earlier life has waited": { decision: every(1), options: { until: 500 }, waits: 0 }
  }

  for (const [name, { decision, failures = 1, options, retryAfter, waits }] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(1_000)
        const met = Array.from({ length: failures }, () => ({ error: error(retryAfter), at: 1_000 }))
        const told: Array<RetryNotice> = []
        const attempts: Array<number> = []
        const fiber = yield* Effect.forkChild(Effect.exit(consult(
          (_, { attempt }) => {
            attempts.push(attempt)
            return decision
          },
          met,
          {
            mayRetry: true,
            hasTime: () => true,
            onRetry: (notice) => Effect.sync(() => void told.push(notice)),
            ...options
          }
        )))
        yield* Effect.yieldNow
        if (waits !== undefined && waits > 0) {
          yield* TestClock.adjust(waits - 1)
          assert.isUndefined(fiber.pollUnsafe())
          yield* TestClock.adjust(1)
        }
        const exit = yield* Fiber.join(fiber)
        assert.strictEqual(yield* Clock.currentTimeMillis, 1_000 + (waits ?? 0))
        assert.deepStrictEqual(attempts, [failures])
        if (waits === undefined) assert.strictEqual(yield* Effect.flip(exit), met.at(-1)!.error)
        else assert.strictEqual(yield* exit, "again")
        assert.deepStrictEqual(
          told.map(({ delay, error, retry, until }) => [error, retry, Duration.toMillis(delay), until]),
          waits === undefined || options?.until !== undefined
            ? []
            : [[met.at(-1)!.error, failures, waits, 1_000 + waits]]
        )
      }))
  }

  it.effect("an answer in the model's place, whatever it is", () =>
    Effect.gen(function*() {
      for (const output of [0, null, undefined, { _tag: "RespondWith" }]) {
        const answer = ModelError.respondWith(output)
        const said = yield* consult(() => answer, [{ error: error(), at: 0 }], {
          mayRetry: false,
          hasTime: () => false,
          onRetry: () => Effect.void
        })
        assert.strictEqual(said, answer)
        assert.isTrue(isSubstitute(answer))
      }
      assert.isFalse(isSubstitute({ _tag: "Other" }))
      assert.isFalse(isSubstitute({}))
    }))

  it.effect("by default waits double from half a second, jittered, to thirty", () =>
    Effect.gen(function*() {
      const decision = ModelError.retry({ times: 12 })
      assert.deepInclude(decision, { times: 12, restart: false, maxRetryAfter: Duration.seconds(60) })
      const delays: Array<number> = []
      for (let failures = 1; failures <= 9; failures++) {
        const fiber = yield* Effect.forkChild(consult(
          () => decision,
          Array.from({ length: failures }, () => ({ error: error(), at: 0 })),
          {
            mayRetry: true,
            hasTime: () => true,
            onRetry: ({ delay }) => Effect.sync(() => void delays.push(Duration.toMillis(delay)))
          }
        ))
        yield* Effect.yieldNow
        yield* TestClock.adjust("2 minutes")
        yield* Fiber.join(fiber)
      }
      for (const [index, delay] of delays.entries()) {
        const whole = Math.min(500 * 2 ** index, 30_000)
        assert.isTrue(delay >= whole * 0.75 && delay <= whole * 1.25, `${index}: ${delay}`)
      }
    }))
})
