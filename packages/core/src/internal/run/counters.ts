/** Metrics counters, and events of the current span. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { modelRetries, toolEscalations, toolFixes, toolRetries } from "../../Telemetry.ts"

/** Counts by attributes. A counter is made once for each combination of them, as the registry of metrics has it anyway. */
const counting = <K extends string>(counter: Metric.Counter<number>) => {
  const counters = new Map<string, Metric.Counter<number>>()
  return (context: Context.Context<never>, attributes: Readonly<Record<K, string>>): void => {
    const key = Object.values(attributes).join("\n")
    let counted = counters.get(key)
    if (counted === undefined) counters.set(key, counted = Metric.withAttributes(counter, attributes))
    counted.updateUnsafe(1, context)
  }
}

export const countToolRetry = counting<"tool">(toolRetries)
export const countToolFix = counting<"fixer" | "tool">(toolFixes)
export const countToolEscalation = counting<"code" | "tool">(toolEscalations)
export const countModelRetry = counting<"agent" | "error">(modelRetries)

/** Adds an event to the span of a context, if it has one. */
export const addSpanEvent = (
  context: Context.Context<never>,
  name: string,
  attributes: Record<string, unknown>
): void => {
  const span = Context.getOption(context, Tracer.ParentSpan)
  if (Option.isNone(span) || span.value._tag !== "Span") return
  span.value.event(name, Context.get(context, Clock.Clock).currentTimeNanosUnsafe(), attributes)
}

/** Adds an event to the span that is current, if one is. */
export const spanEvent = (name: string, attributes: Record<string, unknown>): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) => {
    addSpanEvent(context, name, attributes)
    return Effect.void
  })
