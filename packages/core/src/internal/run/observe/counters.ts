/** Metrics, and events of the current span. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import * as ModelProvider from "../../../ModelProvider.ts"
import {
  modelRetries,
  operationDurationBy,
  tokenUsageBy,
  toolEscalations,
  toolFixes,
  toolRetries
} from "../../../Telemetry.ts"

/** Counts by attributes. A counter is made once for each combination of them, like in the registry of metrics. */
const counting = <K extends string>(counter: Metric.Counter<number>) => {
  const counters = new Map<string, Metric.Counter<number>>()
  return (context: Context.Context<never>, attributes: Readonly<Record<K, string>>): void => {
    let key = ""
    for (const name in attributes) key += `${attributes[name]}\n`
    let counted = counters.get(key)
    if (counted === undefined) counters.set(key, counted = Metric.withAttributes(counter, attributes))
    counted.updateUnsafe(1, context)
  }
}

export const countToolRetry = counting<"tool">(toolRetries)
export const countToolFix = counting<"fixer" | "tool">(toolFixes)
export const countToolEscalation = counting<"code" | "tool">(toolEscalations)
export const countModelRetry = counting<"agent" | "error">(modelRetries)

const identityIn = (context: Context.Context<never>): ModelProvider.ModelIdentity | undefined => {
  const model = Context.getOrUndefined(context, LanguageModel.LanguageModel)
  return model && ModelProvider.identityOf(model)
}

/** The model that a context asks, if its name is known: the model itself knows it best. */
export const knownModelName = (context: Context.Context<never>): string | undefined =>
  identityIn(context)?.name ?? Context.getOrUndefined(context, Model.ModelName)

/** The model that a context asks. */
export const modelName = (context: Context.Context<never>): string => knownModelName(context) ?? "unknown"

/** The metrics of one model. */
interface OfModel {
  readonly attributes: Readonly<Record<string, string>>
  readonly durations: Map<string | undefined, Metric.Histogram<number>>
  readonly input: Metric.Histogram<number>
  readonly output: Metric.Histogram<number>
}

const models = new Map<string, OfModel>()

/** A histogram has its attributes itself: one that `Metric.withAttributes` gives them puts them together each time. */
const metricsOf = (context: Context.Context<never>): OfModel => {
  const model = modelName(context)
  const provider = identityIn(context)?.provider ??
    Context.getOrUndefined(context, Model.ProviderName)
  const key = `${provider ?? ""}\n${model}`
  let metrics = models.get(key)
  if (metrics === undefined) {
    const attributes = {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": model,
      ...(provider === undefined ? undefined : { "gen_ai.provider.name": provider })
    }
    metrics = {
      attributes,
      durations: new Map(),
      input: tokenUsageBy({ ...attributes, "gen_ai.token.type": "input" }),
      output: tokenUsageBy({ ...attributes, "gen_ai.token.type": "output" })
    }
    models.set(key, metrics)
  }
  return metrics
}

/** A model call has taken so many milliseconds. */
export const measureModelCall = (
  context: Context.Context<never>,
  millis: number,
  errorType: string | undefined
): void => {
  const { attributes, durations } = metricsOf(context)
  let duration = durations.get(errorType)
  if (duration === undefined) {
    const failed = errorType === undefined ? undefined : { "error.type": errorType }
    durations.set(errorType, duration = operationDurationBy({ ...attributes, ...failed }))
  }
  duration.updateUnsafe(millis / 1000, context)
}

/** A model call has used so many tokens. */
export const measureTokens = (context: Context.Context<never>, input: number, output: number): void => {
  const metrics = metricsOf(context)
  metrics.input.updateUnsafe(input, context)
  metrics.output.updateUnsafe(output, context)
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
