/** A fallback of a write that is raced with itself: what else the call has come to decides whether it is run. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Schema } from "effect"
import { ErrorProjection, IdempotencyLedger, Recovery, Tool, type ToolError } from "@recourse/core"
import { by } from "./kit.ts"

/** Nothing was done. */
class Refused extends Schema.TaggedError<Refused>()(
  "Refused",
  {},
  ErrorProjection.declare({ code: "upstream_error", outcome: "not_done" })
) {}

/** Both ends of a call that is made twice at once, how often it was executed, and how often another provider was paid. */
const twice = (
  execute: (nth: number) => Effect.Effect<string, Refused>,
  other: Effect.Effect<string>,
  effects: "read" | "write" = "write"
) =>
  Effect.gen(function*() {
    const counts = { executed: 0, other: 0 }
    let ends: ReadonlyArray<Exit.Exit<string, ToolError.ToolError>> = []
    const elsewhere = Effect.suspend(() => (counts.other++, other))
    const tool = Tool.make("pay", {
      success: Schema.String,
      failure: Refused,
      effects,
      // The same key: another attempt may begin where the first one did nothing.
      ...(effects === "write" ? { idempotency: { key: () => "order-7" } } : undefined),
      execute: () => Effect.suspend(() => execute(++counts.executed))
    }).pipe(
      Tool.onError((call) => {
        const one = Effect.exit(Recovery.fallback("ExecutionError", elsewhere)(call as never)) as Effect.Effect<
          Exit.Exit<string, ToolError.ToolError>
        >
        return Effect.map(Effect.all([one, one], { concurrency: 2 }), (both) => (ends = both, "both")) as typeof call
      })
    )
    yield* Effect.provide(tool.call.pipe(by({})), IdempotencyLedger.layerMemory)
    return { counts, ends: ends.map((end) => Exit.isSuccess(end) ? end.value : endOf(end)) }
  })

const endOf = (exit: Exit.Failure<unknown, ToolError.ToolError>): string => {
  const [reason] = exit.cause.reasons
  return reason?._tag === "Fail" ? reason.error._tag : String(reason?._tag)
}

describe("a fallback of a call that is made twice at once", () => {
  it.effect("is not run where the other attempt runs: it may be done there", () =>
    Effect.gen(function*() {
      const second = Deferred.makeUnsafe<void>()
      const { counts, ends } = yield* twice(
        (nth) =>
          nth === 1
            // The first fails once the second has begun.
            ? Effect.andThen(Deferred.await(second), Effect.fail(new Refused()))
            : Effect.andThen(Deferred.succeed(second, undefined), Effect.as(Effect.yieldNow, "paid")),
        Effect.succeed("elsewhere")
      )
      assert.strictEqual(counts.other, 0)
      assert.deepStrictEqual([...ends].sort(), ["OutcomeUnknown", "paid"])
    }))

  it.effect("is run once, and answers for both, where nothing was done", () =>
    Effect.gen(function*() {
      const { counts, ends } = yield* twice(() => Effect.fail(new Refused()), Effect.succeed("elsewhere"))
      assert.strictEqual(counts.other, 1)
      assert.deepStrictEqual(ends, ["elsewhere", "elsewhere"])
    }))

  it.effect("is not run beside itself", () =>
    Effect.gen(function*() {
      const { counts, ends } = yield* twice(
        () => Effect.fail(new Refused()),
        Effect.as(Effect.yieldNow.pipe(Effect.repeat({ times: 50 })), "elsewhere")
      )
      assert.strictEqual(counts.other, 1)
      assert.deepStrictEqual([...ends].sort(), ["OutcomeUnknown", "elsewhere"])
    }))

  it.effect("is run as often as a read asks for it", () =>
    Effect.gen(function*() {
      const { counts, ends } = yield* twice(() => Effect.fail(new Refused()), Effect.succeed("cached"), "read")
      assert.strictEqual(counts.other, 2)
      assert.deepStrictEqual(ends, ["cached", "cached"])
    }))
})
