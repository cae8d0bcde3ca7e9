/**
 * Metrics of durable runs, by effect's `Metric`: whatever exports those has them, such as `Observability.layer` of `@recourse/server` (OTLP)
 * and effect's `PrometheusMetrics`. Runners count by themselves; how many runs are queued and wait is asked of the store by {@link layer}.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"
import { activeRuns } from "./internal/run/counting.ts"
import { timeOf } from "./internal/store/requests.ts"
import { RunStore } from "./RunStore.ts"

export { activeRuns, ended, failovers, leasesLost, stepDuration } from "./internal/run/counting.ts"

/**
 * A layer that asks the store at an interval (default: 15 seconds) how many runs are queued, running and waiting, for
 * {@link activeRuns}. One process that has it is enough. Failures are logged.
 *
 * **Example** (How many runs wait)
 *
 * ```ts
 * import { Effect, Layer, Metric } from "effect"
 * import { RunMetrics, RunStore } from "@recourse/durable"
 *
 * const waiting = Metric.value(Metric.withAttributes(RunMetrics.activeRuns, { status: "waiting" }))
 * const program = waiting.pipe(Effect.provide(Layer.provide(RunMetrics.layer(), RunStore.layerMemory)))
 *
 * await Effect.runPromise(program) // => { value: 0 }
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (
  options?: { readonly every?: Duration.Input | undefined }
): Layer.Layer<never, never, RunStore> =>
  Layer.effectDiscard(Effect.gen(function*() {
    const every = timeOf("RunMetrics.layer", "every", options?.every ?? "15 seconds", { atLeast: 1 })
    const store = yield* RunStore
    const gauges = new Map<string, Metric.Gauge<number>>()
    const gaugeOf = (attributes: Readonly<Record<string, string>>) => {
      const key = Object.values(attributes).join("\n")
      const gauge = gauges.get(key) ?? Metric.withAttributes(activeRuns, attributes)
      gauges.set(key, gauge)
      return gauge
    }
    const once = Effect.catchCause(
      Effect.gen(function*() {
        const counts = yield* store.count
        const now = new Map<Metric.Gauge<number>, number>([[gaugeOf({ status: "waiting" }), 0]])
        for (const { agent, count, status } of counts) {
          now.set(gaugeOf({ status, ...(agent === undefined ? undefined : { agent }) }), count)
        }
        // Statuses without runs are reported as zero.
        for (const gauge of gauges.values()) yield* Metric.update(gauge, now.get(gauge) ?? 0)
      }),
      (cause) => Effect.logWarning("Durable runs could not be counted", cause)
    )
    yield* once
    yield* Effect.forkScoped(Effect.repeat(once, Schedule.spaced(every)))
  }))
