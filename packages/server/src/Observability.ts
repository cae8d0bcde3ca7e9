/**
 * Observability: traces, metrics and logs by OTLP, behind the variable with the collector's address. Names of spans and
 * attributes are those of OpenTelemetry's conventions for generative AI: see `Telemetry` of `@recourse/core`.
 */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import { MeasureModelCalls } from "@recourse/core/Telemetry"
import * as Otlp from "effect/observability/Otlp"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"

/**
 * Name of the program in its telemetry.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** Name of the service. Default: `OTEL_SERVICE_NAME`, or else `"recourse"`. */
  readonly serviceName?: string | undefined
  /** Version of the service. Default: `OTEL_SERVICE_VERSION`. */
  readonly serviceVersion?: string | undefined
}

/** Effect's exporters want to be asked for besides. */
const otlp = ConfigProvider.fromUnknown({
  OTEL_TRACES_EXPORTER: ["otlp"],
  OTEL_METRICS_EXPORTER: ["otlp"],
  OTEL_LOGS_EXPORTER: ["otlp"]
})

/**
 * Sends traces, metrics and logs to the collector at `OTEL_EXPORTER_OTLP_ENDPOINT`, by JSON over HTTP; disabled if the
 * variable is not set. OpenTelemetry's other variables (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SDK_DISABLED` and the like)
 * apply as well.
 *
 * Provide it once, around the whole program.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (options?: Options): Layer.Layer<never, Config.ConfigError> =>
  Layer.unwrap(Effect.gen(function*() {
    if (Option.isNone(yield* Config.option(Config.String("OTEL_EXPORTER_OTLP_ENDPOINT")))) return Layer.empty
    const named = options?.serviceName ??
      (yield* Config.String("OTEL_SERVICE_NAME").pipe(Config.withDefault("recourse")))
    const exported = Otlp.layerFromConfig({ resource: { ...options, serviceName: named } }).pipe(
      Layer.provide([FetchHttpClient.layer, OtlpSerialization.layerJson, ConfigProvider.layerAdd(otlp)])
    )
    return Layer.merge(exported, Layer.succeed(MeasureModelCalls, true))
  }))
