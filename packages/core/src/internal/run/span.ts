/** Spans without content: a failed span holds the tag of its error, and no message, cause or stack. */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"
import { make as makeRedactor, Redaction, type Redactor } from "../../Redaction.ts"
import { after } from "../foundation/sequence.ts"
import { errorName, errorTag } from "./errorName.ts"

/** For a span that ends before its effect has begun. */
const defaultRedactor = makeRedactor()

/** Stands in a span in place of an error. */
class Ended extends Error {
  readonly _tag: string
  constructor(tag: string) {
    super(tag)
    this.name = tag
    this._tag = tag
    this.stack = tag
  }
}

const opaque = <A, E>(exit: Exit.Exit<A, E>, redactor: Redactor): Exit.Exit<unknown, Ended> =>
  Exit.isSuccess(exit)
    ? Exit.void
    : Exit.failCause(Cause.fromReasons(exit.cause.reasons.map((reason) =>
      Cause.isFailReason(reason)
        ? Cause.makeFailReason(new Ended(errorTag(reason.error, redactor) ?? "Error"))
        : Cause.isDieReason(reason)
        ? Cause.makeDieReason(new Ended("Defect"))
        : reason
    )))

const failureName = (exit: Exit.Exit<unknown, unknown>, redactor: Redactor): string | undefined =>
  Exit.isFailure(exit) ? errorName(exit.cause, redactor) : undefined

/** What goes with a span. */
export interface Around<E, A> {
  /** What is written down of an effect that did not go well. */
  readonly errorType?: (exit: Exit.Exit<A, E>, redactor: Redactor) => string | undefined
  /** Done when the span has ended, however it did. */
  readonly onEnd?: ((exit: Exit.Exit<A, E>) => Effect.Effect<void>) | undefined
  /** Adds what the effect needs besides the span. */
  readonly services?: ((context: Context.Context<never>) => Context.Context<never>) | undefined
}

/** Runs an effect in a span. */
export const inSpan = <A, E, R>(
  clock: Clock.Clock,
  name: string,
  options: Tracer.SpanOptionsNoTrace,
  effect: Effect.Effect<A, E, R>,
  { errorType = failureName, onEnd, services }: Around<E, A>
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> =>
  // Ends the span also where an interruption comes before `after` is in place.
  Effect.useSpan(name, options, (span) => {
    let redactor = defaultRedactor
    return after(
      Effect.updateContext(effect, (context: Context.Context<never>) => {
        redactor = Context.get(context, Redaction)
        const spanned = Context.add(context, Tracer.ParentSpan, span)
        return (services === undefined ? spanned : services(spanned)) as Context.Context<R>
      }),
      (exit) => {
        const type = errorType(exit, redactor)
        if (type !== undefined) span.attribute("error.type", type)
        span.end(clock.currentTimeNanosUnsafe(), opaque(exit, redactor))
        return onEnd === undefined ? Effect.void : onEnd(exit)
      }
    )
  })
