/**
 * Telemetry: names of spans and metrics, and whether spans hold content.
 *
 * Spans: `invoke_agent {agent}`, `chat {model}` and `execute_tool {tool}`, with the attributes of OpenTelemetry's semantic
 * conventions for generative AI; attempts of a tool are events of its span. Metrics: those below.
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/**
 * Attempts of tool calls beyond the first, by `tool`.
 *
 * @category metrics
 * @since 0.2.0
 */
export const toolRetries: Metric.Counter<number> = Metric.counter("recourse_tool_retries", {
  description: "Attempts of tool calls beyond the first"
})

/**
 * Times that a fixer was asked, by `tool` and `fixer`.
 *
 * @category metrics
 * @since 0.2.0
 */
export const toolFixes: Metric.Counter<number> = Metric.counter("recourse_tool_fixes", {
  description: "Times that a fixer was asked"
})

/**
 * Failures that were handed to a model, by `tool` and `code`.
 *
 * @category metrics
 * @since 0.2.0
 */
export const toolEscalations: Metric.Counter<number> = Metric.counter("recourse_tool_escalations", {
  description: "Failures that were handed to a model"
})

/**
 * Model calls that were made again, by `agent` and `error`.
 *
 * @category metrics
 * @since 0.2.0
 */
export const modelRetries: Metric.Counter<number> = Metric.counter("recourse_model_retries", {
  description: "Model calls that were made again"
})

/** Bounds of buckets that grow by a factor. */
const growing = (from: number, factor: number): ReadonlyArray<number> =>
  Array.from({ length: 14 }, (_, index) => from * factor ** index)

/** @internal How long model calls took, of those with these attributes. */
export const operationDurationBy = (attributes: Readonly<Record<string, string>>): Metric.Histogram<number> =>
  Metric.histogram("gen_ai.client.operation.duration", {
    description: "GenAI operation duration",
    boundaries: growing(0.01, 2),
    attributes: { unit: "s", ...attributes }
  })

/** @internal How many tokens model calls used, of those with these attributes. */
export const tokenUsageBy = (attributes: Readonly<Record<string, string>>): Metric.Histogram<number> =>
  Metric.histogram("gen_ai.client.token.usage", {
    description: "Number of input and output tokens used",
    boundaries: growing(1, 4),
    attributes: { unit: "{token}", ...attributes }
  })

/**
 * Duration of model calls, in seconds, by `gen_ai.operation.name`, `gen_ai.request.model`, `gen_ai.provider.name` if it
 * is known, and `error.type` if they failed: the conventions of OpenTelemetry.
 *
 * @category metrics
 * @since 0.2.0
 */
export const operationDuration: Metric.Histogram<number> = operationDurationBy({})

/**
 * Tokens of model calls, by `gen_ai.token.type` and the attributes of {@link operationDuration}.
 *
 * @category metrics
 * @since 0.2.0
 */
export const tokenUsage: Metric.Histogram<number> = tokenUsageBy({})

/**
 * True if model calls are measured: {@link operationDuration} and {@link tokenUsage}. Off by default, because it costs
 * each call a microsecond; `Observability.layer` of `@recourse/server` enables it.
 *
 * **Example** (Measuring the calls of a program)
 *
 * ```ts
 * import { Effect, Layer, Metric } from "effect"
 * import { Agent, Telemetry } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const program = Agent.make("clerk", {}).run("Hi").pipe(
 *   Effect.andThen(Metric.snapshot),
 *   Effect.map((metrics) => metrics.some(({ id }) => id === "gen_ai.client.operation.duration")),
 *   Effect.provide(Layer.succeed(Telemetry.MeasureModelCalls, true)),
 *   Effect.provide(ScriptedModel.layer([ScriptedModel.text("Hello")]))
 * )
 *
 * await Effect.runPromise(program) // => true
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const MeasureModelCalls: Context.Reference<boolean> = Context.Reference<boolean>(
  "@recourse/core/Telemetry/MeasureModelCalls",
  { defaultValue: () => false }
)

/**
 * True if spans contain tool arguments and results (`gen_ai.tool.call.arguments`, `gen_ai.tool.call.result`). Off by
 * default, because they may contain personal data.
 *
 * **Example** (Switching it on)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Telemetry } from "@recourse/core"
 *
 * Effect.runSync(Telemetry.CaptureContent) // => false
 * Effect.runSync(Telemetry.CaptureContent.pipe(Effect.provideService(Telemetry.CaptureContent, true))) // => true
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const CaptureContent: Context.Reference<boolean> = Context.Reference<boolean>(
  "@recourse/core/Telemetry/CaptureContent",
  { defaultValue: () => false }
)
