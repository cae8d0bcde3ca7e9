/** Metrics of durable runs. */
import type * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

/**
 * Runs that have ended here, by `agent` and `status`: `completed`, `failed`, `cancelled`.
 *
 * @category metrics
 * @since 0.2.0
 */
export const ended: Metric.Counter<number> = Metric.counter("recourse_runs_ended", {
  description: "Durable runs that have ended"
})

/**
 * Runs that a runner continued behind an owner that had not ended them, by `agent`: one that was killed, frozen or
 * stopped.
 *
 * @category metrics
 * @since 0.2.0
 */
export const failovers: Metric.Counter<number> = Metric.counter("recourse_runs_failovers", {
  description: "Durable runs that continued behind an owner that had not ended them"
})

/**
 * Runs that a runner left because another one holds them, or may hold them, by `agent`.
 *
 * @category metrics
 * @since 0.2.0
 */
export const leasesLost: Metric.Counter<number> = Metric.counter("recourse_runs_leases_lost", {
  description: "Durable runs that a runner left as its lease was over"
})

/**
 * Duration of recording a step, in milliseconds: until it is queued, and until it is written.
 *
 * @category metrics
 * @since 0.2.0
 */
export const stepDuration: Metric.Histogram<number> = Metric.histogram("recourse_runs_step_duration_milliseconds", {
  description: "Milliseconds from a step of a durable run to its record",
  boundaries: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000]
})

/**
 * Runs that have not ended, by `status` (`queued`, `running`, `waiting`) and `agent`; those that wait by `status` only.
 *
 * @category metrics
 * @since 0.2.0
 */
export const activeRuns: Metric.Gauge<number> = Metric.gauge("recourse_runs", {
  description: "Durable runs that have not ended"
})

/** Counts by attributes: a counter is made once for each combination of them. */
const counting = <K extends string>(counter: Metric.Counter<number>) => {
  const counters = new Map<string, Metric.Counter<number>>()
  return (attributes: Readonly<Record<K, string>>): Effect.Effect<void> => {
    const key = Object.values(attributes).join("\n")
    const counted = counters.get(key) ?? Metric.withAttributes(counter, attributes)
    counters.set(key, counted)
    return Metric.update(counted, 1)
  }
}

export const countEnded = counting<"agent" | "status">(ended)
export const countFailover = counting<"agent">(failovers)
export const countLost = counting<"agent">(leasesLost)
