/** Numbers, durations and names in the options of the packages: those of the core are in its own test. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Agent, Conversation } from "@recourse/core"
import { CircuitStore, RunMetrics, RunStore } from "@recourse/durable"
import { Mcp } from "@recourse/mcp"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { JsonRepair } from "@recourse/json-repair"
import { Drive, Experiment, FaultPlan, Laws, ScriptedModel, Subject } from "@recourse/testing"
import * as Certify from "@recourse/testing/Certify"
import { Effect, Layer, Redacted, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { FetchHttpClient, HttpClient, HttpRouter } from "effect/http"
import { refusal, type Row, testOptions } from "../support/optionValues.ts"

const client = (options: object) =>
  Effect.provide(
    OpenAiCompatible.make({ baseUrl: "http://host/v1", model: "m", ...options } as never),
    Layer.succeed(HttpClient.HttpClient, HttpClient.make(() => Effect.never))
  )

const ask = LanguageModel.generateText({ prompt: "Hi" })
const askStream = LanguageModel.streamText({ prompt: "Hi" })

/** A request with changed settings. */
const override = (settings: object) =>
  Effect.flatMap(client({}), (model) =>
    ask.pipe(
      OpenAiCompatible.withConfigOverride(settings),
      Effect.provideService(LanguageModel.LanguageModel, model)
    ))
const streamOverride = (settings: object) =>
  Effect.flatMap(client({}), (model) =>
    Stream.runDrain(askStream).pipe(
      Effect.provideService(OpenAiCompatible.ConfigOverride, settings),
      Effect.provideService(LanguageModel.LanguageModel, model)
    ))

const neverAnswers = {
  specificationVersion: "v4",
  provider: "p",
  modelId: "m",
  supportedUrls: {},
  doGenerate: () => new Promise(() => {}),
  doStream: () => new Promise(() => {})
}
const sdk = (options: object) => AiSdk.layer(neverAnswers as never, options as never)
const sdkRequest = (options: object) => ask.pipe(AiSdk.withOptions(options), Effect.provide(sdk({})))
const sdkStream = (options: object) =>
  Stream.runDrain(askStream).pipe(Effect.provideService(AiSdk.CurrentOptions, options), Effect.provide(sdk({})))

/** Numbers of a request to a model: for all requests, for one, and for one stream. */
const numbers = (
  kinds: ReadonlyArray<readonly [Row[0], name: string, good: unknown]>,
  ways: ReadonlyArray<(options: object) => unknown>
): ReadonlyArray<Row> =>
  kinds.flatMap(([kind, name, good]) => ways.map((way): Row => [kind, name, good, (value) => way({ [name]: value })]))

const mcp = (options: object) =>
  Mcp.connect({ name: "s", connect: Mcp.http("http://127.0.0.1:1/mcp"), ...options } as never).pipe(
    Effect.provide(FetchHttpClient.layer)
  )
const agent = Agent.fromFunction("a", (text: string) => Effect.succeed(text))
const runs = (options: object) =>
  MemoryRuns.layer({ agents: [agent], ...options } as never) as unknown as Layer.Layer<never>
const server = (options: object) =>
  Server.layer({ agents: [{ name: "a", tools: [] }], ...options } as never).pipe(
    Layer.provide([runs({}), Conversation.layerMemory, Authentication.layerAnonymous({ id: "ada" }), HttpRouter.layer])
  )

const inMemory = <A, E>(layer: Layer.Layer<A, E, RunStore.RunStore>) => Layer.provide(layer, RunStore.layerMemory)
const experiment = (options: object) =>
  Experiment.run({ title: "x", cases: [], agents: { a: agent }, scorers: {}, ...options } as never)

const subject = Subject.make({
  agent,
  tools: [],
  scenarios: { default: { input: "Hi", model: [ScriptedModel.text("Hi")] } }
})

/** A check that would run the subject: only its options are of interest. */
const laws = (options: object) =>
  Laws.check(subject, {
    runs: 1,
    laws: [],
    ...options
  })
const certify = (options: object) => Certify.host(RunStore.layerMemory, { runs: 1, operations: 1, ...options })
const onModel = (options: object) => FaultPlan.onModel({ type: "rate_limit" }, options)

const rows: Readonly<Record<string, ReadonlyArray<Row>>> = {
  Durable: [
    ["time", "every", "1 hour", (every) => inMemory(RunStore.layerPurge({ every }))],
    ["time", "every", "1 hour", (every) => inMemory(RunMetrics.layer({ every }))],
    ["time", "idleTimeToLive", undefined, (idleTimeToLive) => CircuitStore.layerSql({ idleTimeToLive })],
    ["time", "probeLease", undefined, (probeLease) => CircuitStore.layerSql({ probeLease })]
  ],
  Testing: [
    ["positive", "seeds", 2, (seeds) => experiment({ seeds })],
    ["limit", "concurrency", 2, (concurrency) => experiment({ concurrency })],
    ["interval", "step", "1 second", (step) => Drive.drive(Effect.void, { step })],
    ["limit", "max", 10, (max) => Drive.drive(Effect.void, { max })],
    ["positive", "runs", 1, (runs) => laws({ runs })],
    ["positive", "faults", 1, (faults) => laws({ faults })],
    ["cap", "interruptions", 1, (interruptions) => laws({ interruptions })],
    ["count", "runs", 1, (runs) => certify({ runs })],
    ["positive", "operations", 1, (operations) => certify({ operations })],
    ["cap", "disturbances", 1, (disturbances) => certify({ disturbances })]
  ],
  JsonRepair: [
    ["limit", "maxLength", 100, (maxLength) => JsonRepair.fixer({ maxLength })]
  ],
  FaultPlan: [
    ["positive", "from", 2, (from) => onModel({ from })],
    ["positive", "times", 2, (times) => onModel({ times })],
    ["share", "probability", 0.5, (probability) => onModel({ probability })]
  ],
  OpenAiCompatible: [
    ["time", "idleTimeout", "1 minute", (idleTimeout) => client({ idleTimeout })],
    ["time", "contentTimeout", "1 minute", (contentTimeout) => client({ contentTimeout })],
    ["limit", "maxBodySize", 1000, (maxBodySize) => client({ maxBodySize })],
    ...numbers([
      ["positive", "maxTokens", 1000],
      ["finite", "temperature", -0.5],
      ["share", "topP", 0.5],
      ["finite", "frequencyPenalty", -1],
      ["finite", "presencePenalty", 1.5],
      ["integer", "seed", -1],
      ["time", "timeout", "1 minute"]
    ], [client, override, streamOverride]),
    ["limit", "retry.attempts", 2, (attempts) => client({ retry: { attempts } })],
    ["duration", "retry.maxRetryAfter", "1 second", (maxRetryAfter) => client({ retry: { maxRetryAfter } })]
  ],
  AiSdk: numbers([
    ["positive", "maxOutputTokens", 1000],
    ["finite", "temperature", 0.5],
    ["share", "topP", 0.5],
    ["count", "topK", 0],
    ["finite", "frequencyPenalty", -1],
    ["finite", "presencePenalty", 1.5],
    ["integer", "seed", -1],
    ["time", "idleTimeout", "1 minute"],
    ["time", "contentTimeout", "1 minute"]
  ], [sdk, sdkRequest, sdkStream]),
  Mcp: [
    ["time", "timeout", "1 minute", (timeout) => mcp({ timeout })],
    ["time", "maxTimeout", "1 minute", (maxTimeout) => mcp({ maxTimeout })],
    ["tag", "trust", "trusted", (trust) => mcp({ trust })],
    ["tag", "toolErrors", "fail", (toolErrors) => mcp({ toolErrors })]
  ],
  Server: [
    ["positive", "maxBodyBytes", 1000, (maxBodyBytes) => server({ maxBodyBytes })],
    ["limit", "maxStreams", 10, (maxStreams) => server({ maxStreams })],
    ["interval", "heartbeat", "1 second", (heartbeat) => server({ heartbeat })],
    ["positive", "rateLimit.limit", 10, (limit) => server({ rateLimit: { limit, window: "1 minute" } })],
    ["interval", "rateLimit.window", "1 minute", (window) => server({ rateLimit: { limit: 1, window } })],
    ["positive", "wrongCredentials.limit", 10, (limit) => server({ wrongCredentials: { limit, window: "1 minute" } })],
    ["tag", "onBusy", "queue", (onBusy) => server({ onBusy })],
    ["tag", "requestTools", "refuse", (requestTools) => server({ requestTools })],
    ["duration", "within", "1 second", (within) => Server.drained({ within })(Layer.empty)]
  ],
  MemoryRuns: [
    ["limit", "capacity", 10, (capacity) => runs({ capacity })],
    ["duration", "gracePeriod", "1 second", (gracePeriod) => runs({ gracePeriod })]
  ]
}

testOptions(rows)

describe("a misspelt option", () => {
  it.each<[string, () => unknown, string]>([
    ["of a client", () => client({ baseURL: "http://host/v1" }), "there is no option \"baseURL\". Use baseUrl"],
    ["of one request", () => override({ max_tokens: 1 }), "there is no option \"max_tokens\". Use maxTokens"],
    ["of a request to a model of the AI SDK", () => sdkRequest({ maxTokens: 1 }), "Use maxOutputTokens"],
    ["of a model of the AI SDK", () => sdk({ temprature: 1 }), "Did you mean \"temperature\"?"],
    ["of a client's retry", () => client({ retry: { times: 2 } }), "there is no option \"retry.times\""],
    ["of a server", () => server({ heartBeat: "1 second" }), "Did you mean \"heartbeat\"?"],
    ["of a fixer", () => JsonRepair.fixer({ maxlength: 1 } as never), "Did you mean \"maxLength\"?"],
    ["of a coercer", () => JsonRepair.coercer({ tool: ["a"] } as never), "Did you mean \"tools\"?"],
    ["of a fault", () => onModel({ probabilty: 0.5 }), "Did you mean \"probability\"?"],
    ["of a plan", () => FaultPlan.make([], { sed: 2 } as never), "Did you mean \"seed\"?"],
    ["of laws", () => laws({ law: [] }), "Did you mean \"laws\"?"],
    ["of a certificate", () => certify({ run: 3 }), "Did you mean \"runs\"?"],
    ["of an MCP server", () => mcp({ timeuot: "1 second" }), "Did you mean \"timeout\"?"]
  ])("%s is refused with the right name", (_, call, sentence) => {
    assert.include(refusal(call), sentence)
  })

  it("in the key of a client says how to wrap it, without the key", () => {
    const sentence = refusal(() => client({ apiKey: "sk-0123456789" }))
    assert.include(sentence, "apiKey is a plain text. Wrap it: Redacted.make(key)")
    assert.isUndefined(refusal(() => client({ apiKey: Redacted.make("sk-0123456789") })))
  })
})
