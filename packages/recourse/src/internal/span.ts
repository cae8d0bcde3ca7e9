/**
 * Spans that say how their effect ended without what it said: a failed span names the tag of the error, and no message,
 * cause or stack of it.
 */
import { Cause, Clock, Context, Effect, Exit, Tracer } from "effect"
import { tagOf } from "../recovery/tags.ts"

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

const opaque = <A, E>(exit: Exit.Exit<A, E>): Exit.Exit<unknown, Ended> =>
  Exit.isSuccess(exit)
    ? Exit.void
    : Exit.failCause(Cause.fromReasons(exit.cause.reasons.map((reason) =>
      Cause.isFailReason(reason)
        ? Cause.makeFailReason(new Ended(tagOf(reason.error) ?? "Error"))
        : Cause.isDieReason(reason)
        ? Cause.makeDieReason(new Ended("Defect"))
        : reason
    )))

/** Runs an effect in a span. */
export const inSpan = (name: string, options: Tracer.SpanOptionsNoTrace) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.contextWith((context: Context.Context<never>) => {
    const clock = Context.get(context, Clock.Clock)
    return Effect.flatMap(Effect.makeSpan(name, options), (span) =>
      Effect.onExitPrimitive(
        Effect.provideService(effect, Tracer.ParentSpan, span),
        (exit) => {
          span.end(clock.currentTimeNanosUnsafe(), opaque(exit))
          return undefined
        }
      ))
  })
