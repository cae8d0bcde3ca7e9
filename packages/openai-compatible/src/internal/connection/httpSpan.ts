/**
 * The HTTP span of a request. Effect's client starts one for each request and sends its ids as headers, which is a fifth
 * of a request's cost. Effect's own tracer exports no span, so that only the headers could have a reader.
 */
import * as Context from "effect/Context"
import * as HttpClient from "effect/http/HttpClient"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

/** True if another process has started the trace of a span. */
const isFromAnotherProcess = (span: Tracer.AnySpan): boolean => {
  let around = span
  while (around._tag === "Span") {
    if (Option.isNone(around.parent)) return false
    around = around.parent.value
  }
  return true
}

/** True if a tracer exports the spans of a context, or another process knows their trace. */
const isObserved = (context: Context.Context<never>): boolean => {
  if (Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer) return true
  const span = Context.getOption(context, Tracer.ParentSpan)
  return Option.isSome(span) && isFromAnotherProcess(span.value)
}

const always = () => true

/** Leaves the HTTP span out if its trace has no reader. */
export const omitUnobserved = <R>(context: Context.Context<R>): Context.Context<R> =>
  isObserved(context) ? context : Context.add(context, HttpClient.TracerDisabledWhen, always)
