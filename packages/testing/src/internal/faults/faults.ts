/**
 * Injects the faults of a plan into the tools, the model and the stores of whatever runs below, without changing it.
 *
 * Faults of tools replace the executor: inside the timeout, the budget and the record of the attempt. Faults of the
 * model are below the agent and above the provider, and so are malformed and missing arguments of a tool, because the
 * model writes them. Faults of services apply to doubles' requests by `SideEffects.request`. Faults of approvals are
 * answers of the `Approver`, and faults of stores apply to those of `layerStores`. Faults of callbacks replace
 * `compensate`, `reconcile`, and the audit of the context.
 */
import { Context, Effect, Layer } from "effect"
import { LanguageModel } from "effect/ai"
import { Audit, type IdempotencyLedger, ToolInterceptor } from "@recourse/core"
import type * as FaultPlan from "../../FaultPlan.ts"
import { Approver, decideBy } from "./approver.ts"
import { faultyCallbacks } from "./callbackFaults.ts"
import { type Injected, type Injector, make as makeInjector } from "./injector.ts"
import { faultyModel } from "./modelFaults.ts"
import { CurrentRequests, injected as serviceRequests } from "./serviceFaults.ts"
import * as StoreFaults from "./storeFaults.ts"
import { SharedStores } from "./stores.ts"
import { faultyTools, type Options } from "./toolFaults.ts"

export type { Options } from "./toolFaults.ts"

/**
 * Injected faults so far.
 *
 * @category services
 * @since 0.2.0
 */
export class FaultLog extends Context.Service<FaultLog, {
  readonly injected: Effect.Effect<ReadonlyArray<Injected>>
  /** @internal The injector. */
  readonly injector: Injector
}>()("@recourse/testing/FaultLog") {}

/**
 * A layer that injects the faults of a plan, over the model of the context. Its counts are its own: provide it once for
 * each run.
 *
 * **Example** (A time-out that a retry gets over)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { FaultPlan, Faults, ScriptedModel } from "@recourse/testing"
 *
 * const Rate = Tool.make("rate", {
 *   success: Schema.Number,
 *   effects: "read",
 *   timeout: "10 millis",
 *   execute: () => Effect.succeed(1.1)
 * })
 * const agent = Agent.make("rates", { tools: [Rate], defaults: { onError: Recovery.policy({ Timeout: { retry: { times: 1 }, otherwise: "escalate" } }) } })
 *
 * const program = Effect.gen(function*() {
 *   const answer = yield* agent.run("What is the rate?")
 *   const log = yield* Faults.FaultLog
 *   return [answer, (yield* log.injected).map(({ tool, type }) => [tool, type])]
 * })
 *
 * await Effect.runPromise(
 *   program.pipe(
 *     Effect.provide(
 *       Faults.layer(FaultPlan.make([FaultPlan.onTool("rate", { type: "timeout" })])).pipe(
 *         Layer.provide(ScriptedModel.layer([ScriptedModel.call("rate", {}), ScriptedModel.text("1.1")]))
 *       )
 *     )
 *   )
 * ) // => ["1.1", [["rate", "timeout"]]]
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (
  plan: FaultPlan.FaultPlan,
  options?: Options
): Layer.Layer<LanguageModel.LanguageModel | FaultLog | Approver, never, LanguageModel.LanguageModel> =>
  Layer.effectContext(
    Effect.gen(function*() {
      const injector = makeInjector(plan)
      const intercept = faultyTools(injector, options)
      const decorate = faultyModel(injector, options?.secret)
      const outer = yield* ToolInterceptor.ToolInterceptor
      const callbacks = faultyCallbacks(injector, options?.secret)
      const audit = yield* Audit.Audit
      return Context.make(LanguageModel.LanguageModel, decorate(yield* LanguageModel.LanguageModel)).pipe(
        Context.add(FaultLog, { injected: injector.injected, injector }),
        Context.add(Approver, { decide: decideBy(injector) }),
        Context.add(CurrentRequests, serviceRequests(injector, options?.secret)),
        Context.add(
          ToolInterceptor.ToolInterceptor,
          (execution, execute) => intercept(execution, outer?.(execution, execute) ?? execute)
        ),
        Context.add(
          ToolInterceptor.CompensationInterceptor,
          callbacks.compensate(yield* ToolInterceptor.CompensationInterceptor)
        ),
        Context.add(
          ToolInterceptor.ReconciliationInterceptor,
          callbacks.reconcile(yield* ToolInterceptor.ReconciliationInterceptor)
        ),
        Context.add(Audit.Audit, audit === undefined ? undefined : callbacks.audit(audit))
      )
    })
  )

/**
 * A layer of an `IdempotencyLedger` and of a store of resumptions in memory, which have the faults of the plan of
 * {@link layer}. Their counts are those of that layer. Stores of an agent itself, by `Agent.provide`, have no faults.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerStores: Layer.Layer<IdempotencyLedger.IdempotencyLedger, never, FaultLog> = Layer.unwrap(
  Effect.map(FaultLog, ({ injector }) => new SharedStores().layer(StoreFaults.injected(injector)))
)
