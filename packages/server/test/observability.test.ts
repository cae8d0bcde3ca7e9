/** A collector's data, by the names that OpenTelemetry publishes; and Prometheus' data. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Telemetry, Tool } from "@recourse/core"
import { Observability } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { ConfigProvider, Effect, Layer, Schedule, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { NodeHttpServer } from "@effect/platform-node"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/**
 * Attributes of the registry of generative AI, published by OpenTelemetry's semantic conventions
 * (`model/gen-ai/registry.yaml` of open-telemetry/semantic-conventions).
 */
const published = new Set([
  "gen_ai.agent.description",
  "gen_ai.agent.id",
  "gen_ai.agent.name",
  "gen_ai.agent.version",
  "gen_ai.conversation.id",
  "gen_ai.data_source.id",
  "gen_ai.embeddings.dimension.count",
  "gen_ai.evaluation.explanation",
  "gen_ai.evaluation.name",
  "gen_ai.evaluation.score.label",
  "gen_ai.evaluation.score.value",
  "gen_ai.input.messages",
  "gen_ai.operation.name",
  "gen_ai.output.messages",
  "gen_ai.output.type",
  "gen_ai.prompt.name",
  "gen_ai.provider.name",
  "gen_ai.request.choice.count",
  "gen_ai.request.encoding_formats",
  "gen_ai.request.frequency_penalty",
  "gen_ai.request.max_tokens",
  "gen_ai.request.model",
  "gen_ai.request.presence_penalty",
  "gen_ai.request.seed",
  "gen_ai.request.stop_sequences",
  "gen_ai.request.temperature",
  "gen_ai.request.top_k",
  "gen_ai.request.top_p",
  "gen_ai.response.finish_reasons",
  "gen_ai.response.id",
  "gen_ai.response.model",
  "gen_ai.system_instructions",
  "gen_ai.token.type",
  "gen_ai.tool.call.arguments",
  "gen_ai.tool.call.id",
  "gen_ai.tool.call.result",
  "gen_ai.tool.definitions",
  "gen_ai.tool.description",
  "gen_ai.tool.name",
  "gen_ai.tool.type",
  "gen_ai.usage.cache_creation.input_tokens",
  "gen_ai.usage.cache_read.input_tokens",
  "gen_ai.usage.input_tokens",
  "gen_ai.usage.output_tokens"
])

/** Values of `gen_ai.operation.name` in the registry. */
const operations = new Set([
  "chat",
  "create_agent",
  "embeddings",
  "execute_tool",
  "generate_content",
  "invoke_agent",
  "text_completion"
])

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string }
}

interface Span {
  readonly name: string
  readonly traceId: string
  readonly parentSpanId?: string
  readonly attributes: ReadonlyArray<Attribute>
}

/** A collector on this machine: its received data, by path. */
const collector = Effect.acquireRelease(
  Effect.callback<
    {
      readonly url: string
      readonly sent: Map<string, Array<unknown>>
      readonly close: () => void
    }
  >((resume) => {
    const sent = new Map<string, Array<unknown>>()
    const server = createServer((request, response) => {
      const parts: Array<Buffer> = []
      request.on("data", (part: Buffer) => parts.push(part))
      request.on("end", () => {
        sent.set(request.url!, [...sent.get(request.url!) ?? [], JSON.parse(Buffer.concat(parts).toString())])
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, sent, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

let failures = 0
const Stock = Tool.make("stock", {
  success: Schema.Number,
  effects: "read",
  execute: () => Effect.suspend(() => failures++ % 2 === 0 ? Effect.fail("busy" as const) : Effect.succeed(3))
}).pipe(Tool.onError((call) =>
  call.pipe(
    Recovery.retry({ times: 1, schedule: Schedule.forever }),
    Recovery.escalate("ExecutionError", "InvalidArgs")
  )
))

const run = Agent.make("shop", { tools: [Stock] }).run("How many?").pipe(
  Effect.andThen(Effect.logInfo("counted")),
  Effect.provide(ScriptedModel.layer([ScriptedModel.call("stock", {}), ScriptedModel.text("Three.")]))
)

const withEnv = (env: Readonly<Record<string, string>>) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(env))

describe("Observability.layer", () => {
  it.live("sends traces, metrics and logs to the variable's collector", () =>
    Effect.gen(function*() {
      const { sent, url } = yield* collector
      yield* run.pipe(
        Effect.provide(Observability.layer({ serviceName: "shop" })),
        withEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: url })
      )
      assert.includeMembers([...sent.keys()], ["/v1/traces", "/v1/metrics", "/v1/logs"])
      assert.include(JSON.stringify(sent.get("/v1/logs")), "counted")
      const metrics = JSON.stringify(sent.get("/v1/metrics"))
      assert.include(metrics, "recourse_tool_retries")
      assert.include(metrics, "\"name\":\"gen_ai.client.operation.duration\"")
      assert.include(metrics, "\"name\":\"gen_ai.client.token.usage\"")
      const keys = [...metrics.matchAll(/"key":"(gen_ai[^"]*)"/g)].map(([, key]) => key!)
      assert.deepStrictEqual(keys.filter((key) => !published.has(key)), [])
      interface Traces {
        readonly resourceSpans: ReadonlyArray<{
          readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
        }>
      }
      const spans = (sent.get("/v1/traces") as ReadonlyArray<Traces>).flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
      )
      const names = spans.map(({ name }) => name)
      assert.includeMembers(names, ["invoke_agent shop", "chat unknown", "execute_tool stock"])
      assert.strictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1)
      const attributes = spans.flatMap(({ attributes }) => attributes)
      const used = new Set(attributes.map(({ key }) => key).filter((key) => key.startsWith("gen_ai.")))
      assert.isAbove(used.size, 5)
      assert.deepStrictEqual([...used].filter((key) => !published.has(key)), [])
      for (const { key, value } of attributes) {
        if (key === "gen_ai.operation.name") assert.isTrue(operations.has(value.stringValue!), value.stringValue)
      }
    }))

  it.live("sends no data without it", () =>
    Effect.gen(function*() {
      const { sent } = yield* collector
      yield* run.pipe(Effect.provide(Observability.layer()), withEnv({}))
      assert.strictEqual(sent.size, 0)
    }))
})

describe("Prometheus", () => {
  it.live("reads the counters of runs from a separate route", () =>
    Effect.gen(function*() {
      const { dispose, handler } = HttpRouter.toWebHandler(
        PrometheusMetrics.layerHttp({ path: "/metrics" }).pipe(Layer.provideMerge(NodeHttpServer.layerHttpServices)),
        { disableLogger: true }
      )
      yield* Effect.provideService(run, Telemetry.MeasureModelCalls, true)
      const text = yield* Effect.promise(async () => (await handler(new Request("http://localhost/metrics"))).text())
      yield* Effect.promise(dispose)
      assert.match(text, /^gen_ai_client_operation_duration_bucket\{.*le="0.01".*\} [1-9]/m)
      assert.match(text, /^recourse_tool_retries\{.*tool="stock".*\} [1-9]/m)
    }))
})
