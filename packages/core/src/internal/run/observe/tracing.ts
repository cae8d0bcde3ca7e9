/**
 * Tracing: starts spans like `Effect.makeSpan`, but at once, so that no interruption comes between the start of a span
 * and its finalizer. A context's options of spans are read once for a run.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import { MeasureModelCalls } from "../../../Telemetry.ts"

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

export const tracingOf = (context: Context.Context<never>): Tracing => ({
  tracer: Context.get(context, References.TracerEnabled) ? Context.get(context, Tracer.Tracer) : undefined,
  clock: Context.get(context, Clock.Clock),
  isTimed: Context.get(context, References.TracerTimingEnabled),
  isMeasured: Context.get(context, MeasureModelCalls),
  isSampled: !LogLevel.isGreaterThan(
    Context.get(context, Tracer.MinimumTraceLevel),
    Context.get(context, Tracer.CurrentTraceLevel)
  ),
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
export interface SpanStart {
  readonly name: string
  readonly kind?: Tracer.SpanKind
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Starts a span. */
export const startSpan = (
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
