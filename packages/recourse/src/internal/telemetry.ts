/** Span attributes and metrics. Names follow OpenTelemetry's semantic conventions for generative AI where these have one. */
import { Effect, Metric } from "effect"

const count = (counter: Metric.Counter<number>, attributes: Record<string, string>): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(counter, attributes), 1)

const toolRetries = Metric.counter("recourse_tool_retries", { description: "Attempts of tool calls beyond the first" })
const toolFixes = Metric.counter("recourse_tool_fixes", { description: "Times a fixer was asked" })
const toolEscalations = Metric.counter("recourse_tool_escalations", { description: "Failures handed to a model" })
const modelRetries = Metric.counter("recourse_model_retries", { description: "Model calls made again" })

export const countToolRetry = (tool: string): Effect.Effect<void> => count(toolRetries, { tool })
export const countToolFix = (tool: string, fixer: string): Effect.Effect<void> => count(toolFixes, { tool, fixer })
export const countToolEscalation = (tool: string, code: string): Effect.Effect<void> =>
  count(toolEscalations, { tool, code })
export const countModelRetry = (agent: string, error: string): Effect.Effect<void> =>
  count(modelRetries, { agent, error })

/** Adds an event to the span that is current, if one is. */
export const spanEvent = (name: string, attributes: Record<string, unknown>): Effect.Effect<void> =>
  Effect.clockWith((clock) =>
    Effect.ignore(Effect.map(Effect.currentSpan, (span) => span.event(name, clock.currentTimeNanosUnsafe(), attributes)))
  )
