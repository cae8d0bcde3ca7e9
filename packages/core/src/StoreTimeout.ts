/**
 * Store timeout: how long a store or an audit writer may take to answer. One that has not answered by then counts as failed,
 * so that it holds no run past its deadline, and no interruption.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import { aTimeLimit, checkArgument } from "./internal/foundation/options/optionCheck.ts"

/**
 * The time that one operation of the idempotency ledger, of `Approval.Resumptions` or of the `Audit` has, repetitions after
 * a broken connection included. Default: 10 seconds.
 *
 * @category services
 * @since 0.2.0
 */
export const CurrentStoreTimeout: Context.Reference<Duration.Duration> = Context.Reference<Duration.Duration>(
  "@recourse/core/StoreTimeout/CurrentStoreTimeout",
  { defaultValue: () => Duration.seconds(10) }
)

/**
 * A layer with another time for everything below it. Throws `ConfigurationError` for a time that is not above zero.
 *
 * **Example** (An audit that does not answer ends the run, and does not hold it)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent, Audit, Policy, Recovery, StoreTimeout, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Pay = Tool.make("pay", { effects: "write", execute: () => Effect.void })
 * const agent = Agent.make("clerk", {
 *   tools: [Pay],
 *   policies: [Policy.make("closed", () => Policy.deny("weekend"))],
 *   defaults: { onError: Recovery.standard }
 * })
 *
 * const exit = await Effect.runPromise(
 *   Effect.exit(agent.run("Pay")).pipe(Effect.provide(Layer.mergeAll(
 *     Audit.layer(() => Effect.never),
 *     StoreTimeout.layer("10 millis"),
 *     ScriptedModel.layer([ScriptedModel.call("pay", {})])
 *   )))
 * )
 * exit._tag // => "Failure"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (timeout: Duration.Input): Layer.Layer<never> => {
  checkArgument("StoreTimeout.layer", "timeout", timeout, aTimeLimit)
  return Layer.succeed(CurrentStoreTimeout, Duration.fromInputUnsafe(timeout))
}
