/** A fallback of a write that is raced with itself: the call's other outcomes decide if it runs. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Schema } from "effect"
import { ErrorProjection, IdempotencyLedger, Recovery, Tool, type ToolError } from "@recourse/core"
import { by } from "../support/kit.ts"

/** Not done. */
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
      // The same key: another attempt may start if the first one had no effect.
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
  it.effect("does not run while the other attempt runs, which may write", () =>
    Effect.gen(function*() {
      const second = Deferred.makeUnsafe<void>()
      const { counts, ends } = yield* twice(
        (nth) =>
          nth === 1
            // The first fails once the second has started.
            ? Effect.andThen(Deferred.await(second), Effect.fail(new Refused()))
            : Effect.andThen(Deferred.succeed(second, undefined), Effect.as(Effect.yieldNow, "paid")),
        Effect.succeed("elsewhere")
      )
      assert.strictEqual(counts.other, 0)
      assert.deepStrictEqual([...ends].sort(), ["OutcomeUnknown", "paid"])
    }))

  it.effect("runs once and answers for both, if neither had an effect", () =>
    Effect.gen(function*() {
      const { counts, ends } = yield* twice(() => Effect.fail(new Refused()), Effect.succeed("elsewhere"))
      assert.strictEqual(counts.other, 1)
      assert.deepStrictEqual(ends, ["elsewhere", "elsewhere"])
    }))

  it.effect("does not run in parallel to itself", () =>
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
