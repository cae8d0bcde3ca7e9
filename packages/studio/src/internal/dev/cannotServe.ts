/** Failures of the command, with advice. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import * as CliError from "effect/cli/CliError"

/**
 * The command failed: `problem` has the necessary change.
 *
 * @category errors
 * @since 0.2.0
 */
export class CannotServe extends Schema.TaggedError<CannotServe>()("CannotServe", { problem: Schema.String }) {
  override readonly [Runtime.errorReported] = false
  override readonly [Runtime.errorExitCode] = 2
  override get [CliError.userMessage](): string {
    return this.problem
  }
  override get message(): string {
    return this.problem
  }
}

/** A layer whose failures have advice. */
export const orCannotServe = <ROut, E, RIn>(
  layer: Layer.Layer<ROut, E, RIn>,
  problem: (error: Exclude<E, CannotServe>) => string
): Layer.Layer<ROut, CannotServe, RIn> =>
  Layer.catch(layer, (error) =>
    Layer.effectContext(Effect.fail(
      error instanceof CannotServe
        ? error
        : new CannotServe({ problem: problem(error as Exclude<E, CannotServe>) })
    ))) as Layer.Layer<ROut, CannotServe, RIn>
