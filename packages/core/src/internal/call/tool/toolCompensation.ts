/** Compensation of a tool: how its writes are undone. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** How a tool's writes are undone. */
export interface Compensation {
  /** Undoes a write, given its decoded arguments and its result. */
  readonly undo: (params: never, result: never) => Effect.Effect<unknown, unknown, unknown>
  /** A call of the tool below its recovery. */
  readonly attempt: Effect.Effect<unknown, unknown, unknown>
  readonly parameters: Schema.Top
  readonly success: Schema.Top
  readonly timeout: Duration.Duration | undefined
  /** Whether it can be found out what a write has done that gave no answer. */
  readonly canReconcile: boolean
}
