/**
 * Retry budget for the whole process, as in tower's `TpsBudget`: retries stay below a share of the calls of a window,
 * so that many runs at once do not bury a service that is down.
 *
 * It adds to the caps of a run (`Budget.retriesPerTool`): an attempt needs both. If the budget does not pay for a
 * retry, the call ends with its last error.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { aDuration, anAmount, checkOptions, type Kind } from "./internal/foundation/options/optionCheck.ts"

/**
 * A budget of retries.
 *
 * @category models
 * @since 0.2.0
 */
export interface RetryBudget {
  /** Counts a call. */
  readonly deposit: Effect.Effect<void>
  /** Takes one retry out of the budget, if there is one left. */
  readonly withdraw: Effect.Effect<boolean>
}

/**
 * Size of the retry budget.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** Retries for each call, between 0 and 1000: 0.2 is one retry for five calls. Default: 0.2. */
  readonly share?: number | undefined
  /** Retries for each second of the window that need no calls, for processes with few of them. Default: 10. */
  readonly minPerSecond?: number | undefined
  /** Time for which calls and retries count, 1 to 60 seconds. Default: 10 seconds. */
  readonly window?: Duration.Input | undefined
}

const slotCount = 10

/** Milliseconds by a clock that never jumps: the time of day may be set back, and calls would count for hours. */
const now: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

interface Slot {
  /** The slot's number since the clock's start: decides if its count is still within the window. */
  number: number
  calls: number
  retries: number
}

const between = (low: number, high: number): Kind => ({
  is: (value) => typeof value === "number" && value >= low && value <= high,
  called: `a number from ${low} to ${high}`
})

const window_: Kind = {
  is: (value) => aDuration.is(value) && between(1000, 60_000).is(Duration.toMillis(value as Duration.Input)),
  called: "a duration from 1 to 60 seconds"
}

const kinds = { share: between(0, 1000), minPerSecond: anAmount, window: window_ }

/**
 * Makes a budget. Throws `ConfigurationError` for options out of range.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (options?: Options): RetryBudget => {
  checkOptions("RetryBudget", options ?? {}, { kinds, otherNames: {} })
  const share = options?.share ?? 0.2
  const minPerSecond = options?.minPerSecond ?? 10
  const window = Duration.toMillis(Duration.fromInputUnsafe(options?.window ?? "10 seconds"))
  const reserve = minPerSecond * window / 1000
  const slots = Array.from({ length: slotCount }, (): Slot => ({ number: -1, calls: 0, retries: 0 }))
  const current = (now: number): Slot => {
    const number = Math.floor(now / (window / slotCount))
    const slot = slots[number % slotCount]!
    if (slot.number !== number) Object.assign(slot, { number, calls: 0, retries: 0 })
    return slot
  }
  const balance = (newest: number): number =>
    slots.reduce(
      (sum, slot) => slot.number > newest - slotCount ? sum + slot.calls * share - slot.retries : sum,
      reserve
    )

  return {
    deposit: Effect.map(now, (now) => {
      current(now).calls++
    }),
    withdraw: Effect.map(now, (now) => {
      const slot = current(now)
      // Shares are fractions: ten times 0.1 is to be one.
      if (balance(slot.number) < 1 - 1e-9) return false
      slot.retries++
      return true
    })
  }
}

/**
 * The budget that pays for retries of tools. None by default.
 *
 * @category services
 * @since 0.2.0
 */
export const CurrentRetryBudget: Context.Reference<RetryBudget | undefined> = Context.Reference<
  RetryBudget | undefined
>("@recourse/core/RetryBudget/CurrentRetryBudget", { defaultValue: () => undefined })

/**
 * A layer with a budget for everything below it. Provide it once, at the root of the program.
 *
 * **Example** (No more than one retry for two calls)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Recovery, RetryBudget, Tool, ToolCall } from "@recourse/core"
 *
 * let runs = 0
 * const Down = Tool.make("down", {
 *   effects: "read",
 *   execute: () => Effect.suspend(() => Effect.fail(++runs))
 * }).pipe(Tool.onError(Recovery.retry({ times: 5 })))
 *
 * const call = (id: string) =>
 *   Effect.exit(
 *     Down.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id, arguments: {} })))
 *   )
 *
 * await Effect.runPromise(
 *   Effect.forEach(["c1", "c2", "c3", "c4"], call).pipe(
 *     Effect.as("done"),
 *     Effect.provide(RetryBudget.layer({ share: 0.5, minPerSecond: 0, window: "60 seconds" }))
 *   )
 * ) // => "done"
 * runs // => 6
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (options?: Options): Layer.Layer<never> => Layer.sync(CurrentRetryBudget, () => make(options))
