/** Virtual time for effects that sleep somewhere deep inside. */
import { OptionCheck } from "@recourse/core"
import { Duration, Effect, Fiber } from "effect"
import { WebCrypto } from "effect/crypto"
import { TestClock } from "effect/testing"
import { withDigests } from "./internal/time/virtualCrypto.ts"

const kinds = { step: OptionCheck.anInterval, max: OptionCheck.aLimit }

/**
 * Runs an effect and moves the `TestClock` on, step by step, until it ends.
 *
 * `TestClock.adjust` yields only once before it moves time, so it misses a fiber that needs more hops until it sleeps;
 * a loop does not. Digests and HMACs of Web Crypto complete at once, because virtual time does not wait for the host's.
 * Time at the end is rounded up to `step` (default: 100 ms): use one that divides the delays under test.
 *
 * **Example** (A minute that takes no time)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TestClock } from "effect/testing"
 * import { Drive } from "@recourse/testing"
 *
 * await Effect.runPromise(
 *   Drive.drive(Effect.as(Effect.sleep("1 minute"), "done"), { step: "1 second" }).pipe(
 *     Effect.provide(TestClock.layer())
 *   )
 * ) // => "done"
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const drive = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options?: {
    readonly step?: Duration.Input | undefined
    /** Steps after which the effect is taken to hang. Default: 10,000. */
    readonly max?: number | undefined
  }
): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    OptionCheck.checkOptions("Drive.drive", options ?? {}, { kinds, otherNames: {} })
    const step = Duration.fromInputUnsafe(options?.step ?? "100 millis")
    const max = options?.max ?? 10_000
    const driven = Effect.updateService(effect, WebCrypto.WebCrypto, withDigests)
    const fiber = yield* Effect.forkChild(driven, { startImmediately: true })
    for (let i = 0; i < max && fiber.pollUnsafe() === undefined; i++) yield* TestClock.adjust(step)
    if (fiber.pollUnsafe() === undefined) {
      yield* Fiber.interrupt(fiber)
      return yield* Effect.die(new Error(`The effect did not end within ${max} steps of ${Duration.format(step)}`))
    }
    return yield* Fiber.join(fiber)
  })
