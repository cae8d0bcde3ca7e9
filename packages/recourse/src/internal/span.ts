/**
 * Spans that say how their effect ended without what it said: a failed span names the tag of the error, and no message,
 * cause or stack of it.
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"
import { tagOf } from "../recovery/tags.ts"
import { provide } from "./provide.ts"

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

/** The tag of the error in a cause, for events and spans. */
export const errorName = (cause: Cause.Cause<unknown>): string => {
  const fail = cause.reasons.find(Cause.isFailReason)
  if (fail === undefined) return Cause.hasInterruptsOnly(cause) ? "Interrupted" : "Defect"
  return tagOf(fail.error) ?? "Error"
}

/** Runs an effect in a span. `errorType` says what is written down of a failure. */
export const inSpan = <A, E, R>(
  clock: Clock.Clock,
  name: string,
  options: Tracer.SpanOptionsNoTrace,
  effect: Effect.Effect<A, E, R>,
  errorType: (cause: Cause.Cause<E>) => string = errorName
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> =>
  Effect.flatMap(Effect.makeSpan(name, options), (span) =>
    Effect.onExitPrimitive(
      provide(effect, Tracer.ParentSpan, span),
      (exit) => {
        if (Exit.isFailure(exit)) span.attribute("error.type", errorType(exit.cause))
        span.end(clock.currentTimeNanosUnsafe(), opaque(exit))
        return undefined
      }
    ))
