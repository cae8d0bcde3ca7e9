/** Telemetry of a run: metrics, spans without content, and their events. A failed span holds the tag of its error, and no message, cause or stack. Spans start at once, so that no interruption comes between the start of a span and its finalizer. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type * as Model from "effect/ai/Model"
import * as ModelProvider from "../../../ModelProvider.ts"
import {
  MeasureModelCalls,
  modelRetries,
  operationDurationBy,
  tokenUsageBy,
  toolEscalations,
  toolFixes,
  toolRetries
} from "../../../Telemetry.ts"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"
import { Redaction, type Redactor } from "../../../Redaction.ts"
import { errorName, errorTag } from "./errorName.ts"

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

/** Name of a model that has not said its own. */
export const unknownModel = "unknown"

/** The metrics of one model. */
interface OfModel {
  readonly attributes: Readonly<Record<string, string>>
  readonly durations: Map<string | undefined, Metric.Histogram<number>>
  readonly input: Metric.Histogram<number>
  readonly output: Metric.Histogram<number>
}

const models = new Map<string, OfModel>()

/** The key of `effect/ai/Model`, which an agent does not load for it. */
const ProviderName = Context.Service<Model.ProviderName, string>("effect/ai/Model/ProviderName")

/** A histogram has its attributes itself: one that `Metric.withAttributes` gives them puts them together each time. */
const metricsOf = (context: Context.Context<never>): OfModel => {
  const model = ModelProvider.nameIn(context) ?? unknownModel
  const provider = ModelProvider.identityIn(context)?.provider ??
    Context.getOrUndefined(context, ProviderName)
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

/** Replacement of an error in a span. */
class Ended extends Error {
  readonly _tag: string
  constructor(tag: string) {
    super(tag)
    this.name = tag
    this._tag = tag
    this.stack = tag
  }
}

const opaque = <A, E>(exit: Exit.Exit<A, E>, context: Context.Context<never>): Exit.Exit<unknown, Ended> =>
  Exit.isSuccess(exit)
    ? Exit.void
    : Exit.failCause(Cause.fromReasons(exit.cause.reasons.map((reason) =>
      Cause.isFailReason(reason)
        ? Cause.makeFailReason(new Ended(errorTag(reason.error, redactorIn(context)) ?? "Error"))
        : Cause.isDieReason(reason)
        ? Cause.makeDieReason(new Ended("Defect"))
        : reason
    )))

const redactorIn = (context: Context.Context<never>): Redactor => Context.get(context, Redaction)

const failureName = ({ cause }: Exit.Failure<unknown, unknown>, context: Context.Context<never>): string | undefined =>
  errorName(cause, redactorIn(context))

/** Options of a span. */
export interface Around<E, A> {
  /** Recorded error type of a failed effect. */
  readonly errorType?: (exit: Exit.Failure<A, E>, context: Context.Context<never>) => string | undefined
  /** Recorded error type of an effect that succeeds. */
  readonly outcomeType?: (value: A) => string | undefined
  /** Runs when the span has ended in any way; also if an interruption came before its start. */
  readonly onEnd?: ((exit: Exit.Exit<A, E>) => Effect.Effect<void>) | undefined
  /** Adds further services of the effect. */
  readonly services?: ((context: Context.Context<never>) => Context.Context<never>) | undefined
}

/** Starts a span: the effect runs the given one in it, once. The span starts within its finalizer's region. */
export const inSpan = <A, E, R>(
  tracing: Tracing,
  start: SpanStart,
  effect: Effect.Effect<A, E, R>,
  { errorType = failureName, onEnd, outcomeType, services }: Around<E, A>
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> => {
  let span: Tracer.Span | undefined
  let around = Context.empty()
  return Effect.onExitPrimitive(
    Effect.updateContext(effect, (context: Context.Context<never>) => {
      around = context
      span = startSpan(tracing, context, start)
      const spanned = Context.add(context, Tracer.ParentSpan, span)
      return (services === undefined ? spanned : services(spanned)) as Context.Context<R>
    }),
    (exit) => {
      if (span !== undefined) {
        const time = timeOf(tracing)
        const ended = opaque(exit, around)
        const type = Exit.isFailure(exit) ? errorType(exit, around) : outcomeType?.(exit.value)
        if (type !== undefined) span.attribute("error.type", type)
        span.end(time, ended)
      }
      const last = onEnd?.(exit)
      return last === Effect.void ? undefined : last
    }
  )
}

/** Options of a context for its spans. */
export interface Tracing {
  /** `undefined` if spans are disabled. */
  readonly tracer: Tracer.Tracer | undefined
  readonly clock: Clock.Clock
  readonly isTimed: boolean
  /** True if model calls are measured. */
  readonly isMeasured: boolean
  readonly isSampled: boolean
  readonly annotations: Readonly<Record<string, unknown>>
  readonly links: ReadonlyArray<Tracer.SpanLink>
}

/** From the least severe on. An agent does not load `effect/LogLevel` for a comparison. */
const levels: ReadonlyArray<LogLevel.LogLevel> = ["All", "Trace", "Debug", "Info", "Warn", "Error", "Fatal", "None"]

export const tracingOf = (context: Context.Context<never>): Tracing => ({
  tracer: Context.get(context, References.TracerEnabled) ? Context.get(context, Tracer.Tracer) : undefined,
  clock: Context.get(context, Clock.Clock),
  isTimed: Context.get(context, References.TracerTimingEnabled),
  isMeasured: Context.get(context, MeasureModelCalls),
  isSampled: levels.indexOf(Context.get(context, Tracer.MinimumTraceLevel)) <=
    levels.indexOf(Context.get(context, Tracer.CurrentTraceLevel)),
  annotations: Context.get(context, References.TracerSpanAnnotations),
  links: Context.get(context, References.TracerSpanLinks)
})

/** The span that effect starts if spans are disabled: it is empty, and so are inner ones. */
let off: Tracer.Span | undefined

const spanThatIsOff = (): Tracer.Span =>
  off ??= Effect.runSync(Effect.provideService(Effect.makeSpan("off"), References.TracerEnabled, false))

const parentOf = (around: Option.Option<Tracer.AnySpan>): Option.Option<Tracer.AnySpan> => {
  if (Option.isNone(around) || !Context.get(around.value.annotations, Tracer.DisablePropagation)) return around
  return around.value._tag === "Span" ? parentOf(around.value.parent) : Option.none()
}

/** The time for the start or the end of a span. */
export const timeOf = ({ clock, isTimed }: Tracing): bigint => isTimed ? clock.currentTimeNanosUnsafe() : 0n

/** Start of a span. */
interface SpanStart {
  readonly name: string
  readonly kind?: Tracer.SpanKind
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Starts a span. */
const startSpan = (
  tracing: Tracing,
  context: Context.Context<never>,
  { attributes, kind = "internal", name }: SpanStart
): Tracer.Span => {
  const { annotations, isSampled, links, tracer } = tracing
  if (tracer === undefined) return spanThatIsOff()
  const parent = parentOf(Context.getOption(context, Tracer.ParentSpan))
  const span = tracer.span({
    name,
    parent,
    annotations: Context.empty(),
    links: [...links],
    startTime: timeOf(tracing),
    kind,
    root: false,
    sampled: isSampled && !(Option.isSome(parent) && !parent.value.sampled)
  })
  for (const key in annotations) span.attribute(key, annotations[key])
  for (const key in attributes) span.attribute(key, attributes[key])
  return span
}
