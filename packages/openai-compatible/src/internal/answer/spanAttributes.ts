/**
 * Attributes of a request's span, named like those of `Telemetry.addGenAIAnnotations` of effect/ai. The names are
 * written out, because making them of field names for each request costs more than reading its answer.
 */
import type * as Response from "effect/ai/Response"
import type * as Tracer from "effect/Tracer"
import type { Settings } from "../../Settings.ts"

const set = (span: Tracer.Span, name: string, value: unknown): void => {
  if (value !== undefined && value !== null) span.attribute(name, value)
}

/** Writes the request, and its receiver. */
export const requested = (span: Tracer.Span, provider: string, model: string, settings: Settings): void => {
  span.attribute("gen_ai.provider.name", provider)
  span.attribute("gen_ai.operation.name", "chat")
  span.attribute("gen_ai.request.model", model)
  set(span, "gen_ai.request.temperature", settings.temperature)
  set(span, "gen_ai.request.top_p", settings.topP)
  set(span, "gen_ai.request.max_tokens", settings.maxTokens)
  set(span, "gen_ai.request.stop_sequences", settings.stop)
}

/** Writes the facts of an answer's parts. */
export const answered = (span: Tracer.Span, parts: ReadonlyArray<Response.AllPartsEncoded>): void => {
  for (const part of parts) {
    if (part.type === "response-metadata") {
      set(span, "gen_ai.response.id", part.id)
      set(span, "gen_ai.response.model", part.modelId)
    } else if (part.type === "finish") {
      span.attribute("gen_ai.response.finish_reasons", [part.reason])
      set(span, "gen_ai.usage.input_tokens", part.usage.inputTokens.total)
      set(span, "gen_ai.usage.output_tokens", part.usage.outputTokens.total)
    }
  }
}
