/** Requests of each pair of retry layers around a service that is down: the table of the guide. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Data, Effect, Layer, Schedule, Schema } from "effect"
import { AiError, LanguageModel } from "effect/ai"
import { HttpClient, HttpClientResponse } from "effect/http"
import { readFileSync } from "node:fs"
import { Agent, ModelError, ModelFallback, Recovery, Tool, type ToolCall, TransportRetry } from "@recourse/core"

class Down extends Data.TaggedError("Down") {}

const { call, text } = ScriptedModel
const times = 2

/** Counts requests that reach the service. */
class Service {
  requests = 0
  readonly client = HttpClient.make((request) =>
    Effect.sync(() => {
      this.requests++
      return HttpClientResponse.fromWeb(request, new Response(null, { status: 503 }))
    })
  )
  readonly retrying = TransportRetry.transform(this.client, { schedule: Schedule.forever })
  readonly failing = Effect.suspend(() => (this.requests++, Effect.fail(new Down())))
}

type Recover = (
  call: Effect.Effect<unknown, unknown, ToolCall.ToolCall>
) => Effect.Effect<unknown, unknown, ToolCall.ToolCall>

const recoveryRetry = (evenIfRetried: boolean): Recover => (c) =>
  Recovery.retry<unknown>({ times, while: () => true, schedule: Schedule.forever, evenIfRetried })(c)
const effectRetry: Recover = (c) => Effect.retry(c, { times })
const fixer = Agent.fromFunction("fixer", () => Effect.succeed("{}"))
const fix: Recover = (c) => Recovery.fix("ExecutionError", fixer)(c as never)

interface Levels {
  readonly execute: (service: Service) => Effect.Effect<unknown, unknown, never>
  readonly own?: Recover
  readonly ofAgent?: Recover
}

/** Requests of an agent whose model calls a tool once. */
const ofTool = ({ execute, ofAgent, own }: Levels) =>
  Effect.gen(function*() {
    const service = new Service()
    const tool = Tool.make("look", {
      success: Schema.Unknown,
      effects: "read",
      execute: () => execute(service)
    })
    const agent = Agent.make("a", {
      tools: [own === undefined ? tool : tool.pipe(Tool.onError(own as never))] as never,
      ...(ofAgent === undefined ? {} : { onToolError: { look: ofAgent } as never })
    }) as unknown as Agent.Agent<string, string, unknown, never>
    yield* Drive.drive(
      Effect.exit(agent.run("go")).pipe(Effect.provide(ScriptedModel.layer([call("look", {}), text("done")])))
    )
    return service.requests
  })

const unavailable = () =>
  AiError.make({
    module: "m",
    method: "generateText",
    reason: new AiError.InternalProviderError({ description: "503" })
  })

/** A model whose every request is sent by a client. */
const modelOver = (client: HttpClient.HttpClient) =>
  Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () => Effect.andThen(Effect.orDie(client.get("http://localhost/")), Effect.fail(unavailable())),
      streamText: () => ({}) as never
    })
  )

type Models = (service: Service) => Layer.Layer<LanguageModel.LanguageModel>

const again = (evenIfRetried: boolean) => () => ModelError.retry({ times, schedule: Schedule.forever, evenIfRetried })

/** Requests of an agent whose model is down. */
const ofModel = (models: Models, onModelError: (() => ModelError.Decision<never>) | undefined) =>
  Effect.gen(function*() {
    const service = new Service()
    const agent = Agent.make("a", { onModelError: onModelError ?? (() => ModelError.rethrow) })
    yield* Drive.drive(Effect.exit(agent.run("go")).pipe(Effect.provide(models(service))))
    return service.requests
  })

const transport: Models = ({ retrying }) => modelOver(retrying)
const once: Models = ({ client }) => modelOver(client)
const layered = (models: Models, evenIfRetried: boolean): Models => (service) =>
  ModelError.layer(again(evenIfRetried)).pipe(Layer.provide(models(service)))
const two = (models: Models): Models => (service) => ModelFallback.layer([models(service), models(service)])

/** Requests of an agent that is a tool of another agent, which retries it. */
const ofAgentTool = (onModelError: (() => ModelError.Decision<never>) | undefined, models: Models, recover: Recover) =>
  Effect.gen(function*() {
    const service = new Service()
    const within = Agent.make("clerk", { onModelError: onModelError ?? (() => ModelError.rethrow) }).pipe(
      Agent.provide(models(service))
    )
    const tool = within.pipe(Agent.asTool("clerk", { description: "mayRequestApproval", effects: "read" }))
    const agent = Agent.make("a", {
      tools: [tool] as never,
      onToolError: { clerk: recover } as never
    }) as unknown as Agent.Agent<string, string, unknown, never>
    yield* Drive.drive(
      Effect.exit(agent.run("go")).pipe(
        Effect.provide(ScriptedModel.layer([call("clerk", { input: "x" }), text("done")]))
      )
    )
    return service.requests
  })

const fetched = ({ retrying }: Service): Effect.Effect<unknown, unknown> =>
  Effect.flatMap(retrying.get("http://localhost/"), HttpClientResponse.filterStatusOk)
const failing = ({ failing }: Service) => failing
const within = (recover: Recover) => (service: Service): Effect.Effect<unknown, unknown> =>
  Tool.make("part", { success: Schema.Unknown, effects: "read", execute: () => service.failing }).pipe(
    Tool.onError(recover as never)
  ).call as never

type Row = readonly [inner: string, outer: string, plain: Effect.Effect<number>, byName?: Effect.Effect<number>]

const rows: ReadonlyArray<Row> = [
  [
    "`TransportRetry`",
    "`onModelError`",
    ofModel(transport, again(false)),
    ofModel(transport, again(true))
  ],
  [
    "`TransportRetry`",
    "`ModelError.layer`",
    ofModel(layered(transport, false), undefined),
    ofModel(layered(transport, true), undefined)
  ],
  [
    "`ModelError.layer`",
    "`onModelError`",
    ofModel(layered(once, false), again(false)),
    ofModel(layered(once, false), again(true))
  ],
  ["`TransportRetry`", "`ModelFallback`, two models", ofModel(two(transport), undefined)],
  [
    "`ModelFallback`, two models",
    "`onModelError`",
    ofModel(two(once), again(false)),
    ofModel(two(once), again(true))
  ],
  [
    "`TransportRetry` of its model",
    "`Recovery.retry` of an agent that is a tool",
    ofAgentTool(undefined, transport, recoveryRetry(false)),
    ofAgentTool(undefined, transport, recoveryRetry(true))
  ],
  [
    "`onModelError`",
    "`Recovery.retry` of an agent that is a tool",
    ofAgentTool(again(false), once, recoveryRetry(false)),
    ofAgentTool(again(false), once, recoveryRetry(true))
  ],
  [
    "`TransportRetry` in the executor",
    "`Recovery.retry`",
    ofTool({ execute: fetched, own: recoveryRetry(false) }),
    ofTool({ execute: fetched, own: recoveryRetry(true) })
  ],
  ["`TransportRetry` in the executor", "`Effect.retry`", ofTool({ execute: fetched, own: effectRetry })],
  [
    "`Recovery.retry`",
    "`Recovery.retry`, same level",
    ofTool({ execute: failing, own: (c) => recoveryRetry(false)(recoveryRetry(false)(c)) }),
    ofTool({ execute: failing, own: (c) => recoveryRetry(true)(recoveryRetry(false)(c)) })
  ],
  [
    "`Recovery.retry`",
    "`Recovery.retry`, the agent's",
    ofTool({ execute: failing, own: recoveryRetry(false), ofAgent: recoveryRetry(false) }),
    ofTool({ execute: failing, own: recoveryRetry(false), ofAgent: recoveryRetry(true) })
  ],
  [
    "`Effect.retry`",
    "`Recovery.retry`, same level",
    ofTool({ execute: failing, own: (c) => recoveryRetry(false)(effectRetry(c)) }),
    ofTool({ execute: failing, own: (c) => recoveryRetry(true)(effectRetry(c)) })
  ],
  [
    "`Recovery.retry`",
    "`Effect.retry`, same level",
    ofTool({ execute: failing, own: (c) => effectRetry(recoveryRetry(false)(c)) })
  ],
  [
    "`Effect.retry`",
    "`Effect.retry`, same level",
    ofTool({ execute: failing, own: (c) => effectRetry(effectRetry(c)) })
  ],
  [
    "`Effect.retry`",
    "`Effect.retry`, the agent's",
    ofTool({ execute: failing, own: effectRetry, ofAgent: effectRetry })
  ],
  [
    "`Recovery.retry` of a call in the executor",
    "`Recovery.retry`",
    ofTool({ execute: within(recoveryRetry(false)), own: recoveryRetry(false) }),
    ofTool({ execute: within(recoveryRetry(false)), own: recoveryRetry(true) })
  ],
  [
    "`Recovery.retry`",
    "`Recovery.fix`, same level",
    ofTool({ execute: failing, own: (c) => fix(recoveryRetry(false)(c)) })
  ],
  [
    "`Recovery.fix`",
    "`Recovery.retry`, same level",
    ofTool({ execute: failing, own: (c) => recoveryRetry(false)(fix(c)) }),
    ofTool({ execute: failing, own: (c) => recoveryRetry(true)(fix(c)) })
  ],
  [
    "`Recovery.fix`",
    "`Recovery.retry`, the agent's",
    ofTool({ execute: failing, own: fix, ofAgent: recoveryRetry(false) }),
    ofTool({ execute: failing, own: fix, ofAgent: recoveryRetry(true) })
  ]
]

const page = readFileSync(new URL("../../../../docs/retries.md", import.meta.url), "utf8")

/** The cells of the lines of the guide that are tables. */
const lines = new Set(
  page.split("\n").filter((line) => line.startsWith("|")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim()).join(" | ")
  )
)

describe("requests of two layers of three attempts each", () => {
  for (const [inner, outer, plain, byName] of rows) {
    it.effect(`${inner} below ${outer} are those of the guide`, () =>
      Effect.gen(function*() {
        const measured = [inner, outer, yield* plain, byName === undefined ? "–" : yield* byName].join(" | ")
        assert.isTrue(lines.has(measured), `the guide says something else than: ${measured}`)
      }))
  }
})
