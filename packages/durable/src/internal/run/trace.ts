/** The trace of a run: one over all its executions and processes. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type { StoredRun } from "../store/store.ts"

/** The current span, in the form of `traceparent` of W3C's Trace Context. */
export const currentTrace: Effect.Effect<string | undefined> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.succeed(
    Option.getOrUndefined(Option.map(
      Context.getOption(context, Tracer.ParentSpan),
      ({ sampled, spanId, traceId }) => `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`
    ))
  )
)

const hex = (text: string, words: number): string =>
  Array.from({ length: words }, (_, n) => (Hash.string(`${n} ${text}`) >>> 0).toString(16).padStart(8, "0")).join("")

/** The parent span of the run's executions: the one that it was started in, or one made of its id. */
export const spanOf = ({ runId, trace }: StoredRun): Tracer.ExternalSpan => {
  const [, traceId = hex(runId, 4), spanId = hex(runId, 2), flags = "01"] = trace?.split("-") ?? []
  return Tracer.externalSpan({ traceId, spanId, sampled: flags === "01" })
}
