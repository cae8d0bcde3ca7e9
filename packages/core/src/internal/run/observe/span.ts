/** Spans without content: a failed span holds the tag of its error, and no message, cause or stack. They start at once, so that no interruption comes between the start of a span and its finalizer. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"
import * as Clock from "effect/Clock"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as References from "effect/References"
import { Redaction, type Redactor } from "../../../Redaction.ts"
import { errorName, errorTag } from "./errorName.ts"
import { MeasureModelCalls } from "../../../Telemetry.ts"

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

const failureName = (exit: Exit.Exit<unknown, unknown>, context: Context.Context<never>): string | undefined =>
  Exit.isFailure(exit) ? errorName(exit.cause, redactorIn(context)) : undefined

/** Options of a span. */
export interface Around<E, A> {
  /** Recorded error type of a failed effect. */
  readonly errorType?: (exit: Exit.Exit<A, E>, context: Context.Context<never>) => string | undefined
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
  { errorType = failureName, onEnd, services }: Around<E, A>
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
        const type = errorType(exit, around)
        if (type !== undefined) span.attribute("error.type", type)
        span.end(timeOf(tracing), opaque(exit, around))
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
