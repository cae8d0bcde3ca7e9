/** Compensation of a tool: the inverse of its writes. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** Inverse of a tool's writes. */
export interface Compensation {
  /** Compensates a write, given its decoded arguments and its result. */
  readonly compensate: (params: never, result: never) => Effect.Effect<unknown, unknown, unknown>
  /** A call of the tool below its recovery. */
  readonly attempt: Effect.Effect<unknown, unknown, unknown>
  readonly parameters: Schema.Top
  readonly success: Schema.Top
  readonly timeout: Duration.Duration | undefined
  /** True if the effect of a write without an answer can be determined. */
  readonly canReconcile: boolean
}
