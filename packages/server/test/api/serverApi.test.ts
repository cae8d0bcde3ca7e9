/**
 * The API in data form: its client calls the server, its document names each route, and the server's answers fit it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Authentication, MemoryRuns, Server, ServerApi } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schedule, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, type HttpClientResponse, HttpRouter } from "effect/http"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { serve, type Who } from "../support/kit.ts"

const endpoints = new Map<string, HttpApiEndpoint.Top>()
/** Schemas of answers, by endpoint and status. */
const answers = new Map<string, ReadonlyArray<Schema.Top>>()
HttpApi.reflect(ServerApi.api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint, group, successes }) => {
    const name = `${group.identifier}.${endpoint.identifier}`
    endpoints.set(name, endpoint)
    for (const [status, schemas] of successes) answers.set(`${name} ${status}`, schemas)
  }
})

const clientOf = (url: string, who: Who) =>
  Effect.provide(
    ServerApi.client({
      baseUrl: url,
      transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(`token-of-${who}`))
    }),
    FetchHttpClient.layer
  )

/** The answer, if it has only fields of the API. */
const fits = <A>(name: string, [value, response]: readonly [A, HttpClientResponse.HttpClientResponse]) =>
  Effect.gen(function*() {
    const [schema] = answers.get(`${name} ${response.status}`)!
    const codec = Schema.toCodecJson(schema as Schema.Codec<unknown, unknown>)
    const written = yield* Schema.encodeUnknownEffect(codec)(value)
    const text = yield* response.text
    if (text !== "") assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(written)), name)
    return value
  })

const full = { responseMode: "decoded-and-response" } as const

describe("ServerApi", () => {
  it.effect("names each route of the server, and no other", () =>
    Effect.gen(function*() {
      const added: Array<string> = []
      const routes = HttpRouter.use((router) =>
        Effect.provideService(
          Effect.asVoid(Layer.build(Server.layer({ agents: [], onFeedback: () => Effect.void }))),
          HttpRouter.HttpRouter,
          {
            ...router,
            add: (method: string, path: string) => Effect.sync(() => void added.push(`${method} ${path}`)),
            addAll: (all: ReadonlyArray<{ readonly method: string; readonly path: string }>) =>
              Effect.sync(() => all.forEach(({ method, path }) => added.push(`${method} ${path}`)))
          } as never
        )
      )
      yield* Layer.build(routes.pipe(
        Layer.provide(HttpRouter.layer),
        Layer.provide([MemoryRuns.layer({ agents: [] }), Conversation.layerMemory, Authentication.layerAnonymous()])
      ))
      assert.sameMembers(
        added.filter((route) => route !== "GET /openapi.json"),
        [...endpoints.values()].map(({ method, path }) => `${method} ${path}`)
      )
      const { openapi, paths } = ServerApi.document()
      assert.strictEqual(openapi, "3.1.0")
      assert.sameMembers(
        Object.entries(paths).flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`)
        ),
        [...endpoints.values()].map(({ method, path }) => `${method} ${path}`)
      )
    }).pipe(Effect.scoped))

  it.live(
    "has a client, whose answers fit the document",
    () =>
      Effect.gen(function*() {
        const kept: Array<Server.Feedback> = []
        const server = yield* serve([
          ScriptedModel.call("search", { query: "flaky" }),
          ScriptedModel.text("Found."),
          ScriptedModel.call("pay", { amount: 5 }),
          ScriptedModel.text("Paid."),
          ScriptedModel.failure("AuthenticationError"),
          ScriptedModel.call("pay", { amount: 7 })
        ], { server: { onFeedback: (feedback) => Effect.sync(() => kept.push(feedback)) } })
        const ada = yield* clientOf(server.url, "ada")
        const olga = yield* clientOf(server.url, "olga")
        const { agents, maxBodyBytes } = yield* fits("agents.list", yield* ada.agents.list(full))
        assert.deepStrictEqual([agents.map(({ name }) => name), maxBodyBytes], [["clerk"], 1024 * 1024])

        const start = (message: string) =>
          Effect.flatMap(
            ada.runs.start({ ...full, payload: { agent: "clerk", message, threadId: "t1" } }),
            (answer) => fits("runs.start", answer)
          )
        const { runId } = yield* start("Search")
        const events = yield* ada.runs.events({ params: { run: runId }, headers: {} })
        assert.include(yield* Stream.mkString(Stream.decodeText(events)), "event: end")
        const run = { params: { run: runId } }
        assert.strictEqual((yield* fits("runs.get", yield* ada.runs.get({ ...full, ...run }))).status, "completed")
        yield* ada.runs.feedback({ ...run, payload: { value: "up" } })
        assert.deepStrictEqual(kept.map(({ value }) => value), ["up"])

        const waiting = yield* start("Pay")
        const late = yield* ada.runs.events({ params: { run: waiting.runId }, headers: { "last-event-id": "1" } })
        yield* Stream.runHead(
          Stream.filter(Stream.splitLines(Stream.decodeText(late)), (line) => line.includes("paused"))
        )
        const { approvals } = yield* fits("operator.approvals", yield* olga.operator.approvals({ ...full, query: {} }))
        assert.deepStrictEqual(approvals.map(({ call }) => call.tool), ["pay"])
        const [asked] = yield* fits("runs.list", yield* ada.runs.list({ ...full, query: { status: "waiting" } })).pipe(
          Effect.map(({ runs }) => runs)
        )
        const { argumentsHash, callId } = asked!.pending[0]!
        const decisions = [{ _tag: "Approve", callId, argumentsHash } as const]
        const decided = { params: { run: waiting.runId }, payload: { decisions } }
        yield* fits("runs.decide", yield* ada.runs.decide({ ...full, ...decided }))
        yield* server.runs.wait(waiting.runId)
        const again = yield* Effect.flip(olga.operator.decide(decided))
        assert.deepInclude(again, { title: "DecisionRefused", status: 422, reason: "unknown_call" })

        const failed = yield* start("Fail")
        assert.strictEqual((yield* server.runs.wait(failed.runId)).status, "failed")
        const last = yield* start("Pay more")
        yield* Effect.repeat(server.runs.get(last.runId), { until: ({ status }) => status === "waiting" })
        const { threads } = yield* fits("threads.list", yield* ada.threads.list({ ...full, query: { limit: 1 } }))
        assert.strictEqual(threads[0]?.isWaiting, true)
        const stands = yield* fits("threads.state", yield* ada.threads.state({ ...full, params: { thread: "t1" } }))
        assert.deepStrictEqual(stands, threads[0])
        assert.strictEqual((yield* fits("operator.me", yield* olga.operator.me(full))).principal.id, "olga")
        // The index may be a moment behind.
        yield* Effect.repeat(
          Effect.flatMap(
            olga.operator.overview({ ...full, query: { parts: 3 } }),
            (answer) => fits("operator.overview", answer)
          ),
          { until: ({ runs }) => runs === 4, schedule: Schedule.spaced("20 millis") }
        )
        yield* fits("operator.outcomes", yield* olga.operator.outcomes({ ...full, query: {} }))
        yield* fits("operator.outcomesOfRun", yield* olga.operator.outcomesOfRun({ ...full, ...run }))
        assert.deepInclude(
          yield* Effect.flip(
            olga.operator.check({ ...run, payload: { checks: [{ spanId: "none", answer: "happened" }] } })
          ),
          { title: "DecisionRefused", status: 422 }
        )
        const { messages } = yield* fits("threads.get", yield* ada.threads.get({ ...full, params: { thread: "t1" } }))
        assert.strictEqual(messages.length, 8)
        yield* fits(
          "threads.rename",
          yield* ada.threads.rename({ ...full, params: { thread: "t1" }, payload: { title: "T" } })
        )
        for (const { runId } of [waiting, failed, last]) {
          const params = { run: runId }
          yield* fits("operator.run", yield* olga.operator.run({ ...full, params }))
          yield* fits("operator.timeline", yield* olga.operator.timeline({ ...full, params }))
        }
        const first = yield* fits("operator.runs", yield* olga.operator.runs({ ...full, query: { limit: 2 } }))
        const rest = yield* fits(
          "operator.runs",
          yield* olga.operator.runs({ ...full, query: { limit: 2, cursor: first.next! } })
        )
        assert.strictEqual(new Set([...first.runs, ...rest.runs].map(({ runId }) => runId)).size, 4)
        yield* fits("runs.stop", yield* ada.runs.stop({ ...full, params: { run: last.runId }, payload: {} }))
        yield* fits("operator.stop", yield* olga.operator.stop({ ...full, params: { run: failed.runId }, payload: {} }))
        yield* ada.threads.delete({ params: { thread: "t1" } })
        yield* fits("wires.models", yield* ada.wires.models(full))
        yield* fits("wires.model", yield* ada.wires.model({ ...full, params: { model: "clerk" } }))
        yield* fits("health.ready", yield* ada.health.ready(full))
      }).pipe(Effect.scoped),
    30_000
  )

  it.live("names the server's refusals, listed in the document", () =>
    Effect.gen(function*() {
      const server = yield* serve([])
      const ada = yield* clientOf(server.url, "ada")
      const nobody = yield* clientOf(server.url, "nobody" as Who)
      const titles = yield* Effect.forEach([
        ada.runs.get({ params: { run: "none" } }),
        ada.threads.get({ params: { thread: "none" } }),
        ada.runs.start({ payload: { agent: "none", message: "Hi" } }),
        ada.operator.runs({ query: {} }),
        nobody.agents.list()
      ], (refused: Effect.Effect<unknown, unknown>) =>
        Effect.map(Effect.flip(refused), (problem) => {
          const { title, trace_id } = problem as { readonly title: string; readonly trace_id: string }
          assert.match(trace_id, /^[0-9a-f]{32}$/)
          return title
        }))
      assert.deepStrictEqual(titles, ["UnknownRun", "ThreadNotFound", "UnknownAgent", "Forbidden", "Unauthorized"])
      const { status, text } = yield* server.get("/openapi.json")
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(ServerApi.document())))
    }).pipe(Effect.scoped))
})
