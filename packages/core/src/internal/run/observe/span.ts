/** Spans without content: a failed span holds the tag of its error, and no message, cause or stack. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"
import { Redaction, type Redactor } from "../../../Redaction.ts"
import { after } from "../../foundation/effect/sequence.ts"
import { errorName, errorTag } from "./errorName.ts"
import { type SpanStart, startSpan, timeOf, type Tracing } from "./tracing.ts"

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
  return after(
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
      return onEnd === undefined ? Effect.void : onEnd(exit)
    }
  )
}
