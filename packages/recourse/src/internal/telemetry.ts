/** Counting, and events of the current span. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { modelRetries, toolEscalations, toolFixes, toolRetries } from "../Telemetry.ts"

const count = (counter: Metric.Counter<number>, attributes: Record<string, string>): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(counter, attributes), 1)

export const countToolRetry = (tool: string): Effect.Effect<void> => count(toolRetries, { tool })
export const countToolFix = (tool: string, fixer: string): Effect.Effect<void> => count(toolFixes, { tool, fixer })
export const countToolEscalation = (tool: string, code: string): Effect.Effect<void> =>
  count(toolEscalations, { tool, code })
export const countModelRetry = (agent: string, error: string): Effect.Effect<void> =>
  count(modelRetries, { agent, error })

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
