/** Metrics, and events of the current span. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as Model from "effect/ai/Model"
import {
  modelRetries,
  operationDuration,
  tokenUsage,
  toolEscalations,
  toolFixes,
  toolRetries
} from "../../Telemetry.ts"

/** Updates by attributes. A metric is made once for each combination of them, as the registry of metrics has it anyway. */
const updating = <K extends string>(metric: Metric.Metric<number, unknown>) => {
  const metrics = new Map<string, Metric.Metric<number, unknown>>()
  return (context: Context.Context<never>, attributes: Readonly<Record<K, string>>, value: number): void => {
    const key = Object.entries(attributes).join("\n")
    let updated = metrics.get(key)
    if (updated === undefined) metrics.set(key, updated = Metric.withAttributes(metric, attributes))
    updated.updateUnsafe(value, context)
  }
}

const counting = <K extends string>(counter: Metric.Counter<number>) => {
  const update = updating<K>(counter)
  return (context: Context.Context<never>, attributes: Readonly<Record<K, string>>): void =>
    update(context, attributes, 1)
}

export const countToolRetry = counting<"tool">(toolRetries)
export const countToolFix = counting<"fixer" | "tool">(toolFixes)
export const countToolEscalation = counting<"code" | "tool">(toolEscalations)
export const countModelRetry = counting<"agent" | "error">(modelRetries)

const updateDuration = updating(operationDuration)
const updateTokens = updating(tokenUsage)

/** The model that a context asks. */
export const modelName = (context: Context.Context<never>): string =>
  Option.getOrElse(Context.getOption(context, Model.ModelName), () => "unknown")

const ofModel = (context: Context.Context<never>): Record<string, string> => {
  const provider = Context.getOption(context, Model.ProviderName)
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": modelName(context),
    ...(Option.isNone(provider) ? undefined : { "gen_ai.provider.name": provider.value })
  }
}

/** A model call has taken so many milliseconds. */
export const measureModelCall = (
  context: Context.Context<never>,
  millis: number,
  errorType: string | undefined
): void =>
  updateDuration(
    context,
    errorType === undefined ? ofModel(context) : { ...ofModel(context), "error.type": errorType },
    millis / 1000
  )

/** A model call has used so many tokens. */
export const measureTokens = (context: Context.Context<never>, input: number, output: number): void => {
  const attributes = ofModel(context)
  updateTokens(context, { ...attributes, "gen_ai.token.type": "input" }, input)
  updateTokens(context, { ...attributes, "gen_ai.token.type": "output" }, output)
}

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
