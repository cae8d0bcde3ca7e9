/** Counting, and events of the current span. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { modelRetries, toolEscalations, toolFixes, toolRetries } from "../Telemetry.ts"

const count = (counter: Metric.Counter<number>, attributes: Record<string, string>): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(counter, attributes), 1)

export const countToolRetry = (tool: string): Effect.Effect<void> => count(toolRetries, { tool })
export const countToolFix = (tool: string, fixer: string): Effect.Effect<void> => count(toolFixes, { tool, fixer })
export const countToolEscalation = (tool: string, code: string): Effect.Effect<void> =>
  count(toolEscalations, { tool, code })
export const countModelRetry = (agent: string, error: string): Effect.Effect<void> =>
  count(modelRetries, { agent, error })

/** Adds an event to the span that is current, if one is. */
export const spanEvent = (name: string, attributes: Record<string, unknown>): Effect.Effect<void> =>
  Effect.clockWith((clock) =>
    Effect.ignore(
      Effect.map(Effect.currentSpan, (span) => span.event(name, clock.currentTimeNanosUnsafe(), attributes))
    )
  )
