/**
 * Server API: the routes of {@link Server.layer} as data. A typed client is made of it, and the OpenAPI document that the server
 * answers at `/openapi.json`.
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Decision } from "@recourse/core/Approval"
import { Capabilities, Completion, Message, Model, openAiError, problems, Run, Thread } from "./internal/api/schemas.ts"
import { operator } from "./internal/api/operatorGroup.ts"
import { always, eventStream, lastEventId, nothing, ofBody } from "./internal/api/routeParts.ts"
import {
  BranchRequest,
  ChatRequest,
  CompletionRequest,
  FeedbackRequest,
  Id,
  OwnRunsRequest,
  RenameRequest,
  RunAgentInput,
  StartRequest,
  StreamRequest,
  ThreadsRequest
} from "./internal/api/requests.ts"

const badRequest = problems.badRequest
const conflict = problems.conflict
const refused = problems.refused
const unavailable = problems.unavailable
const unknown = problems.unknown
const unsupported = problems.unsupported

const run = { run: Schema.String }
const thread = { thread: Schema.String }
const agent = { agent: Schema.String }
const accepted = Run.pipe(HttpApiSchema.status(202))
const decisions = Schema.Struct({ decisions: Schema.Array(Decision) })
const next = Schema.optional(Schema.String)

/** Text for a page of the AI SDK: its client shows the whole body. */
const text = (status: number) => Schema.String.pipe(HttpApiSchema.status(status), HttpApiSchema.asText())
const chatErrors = [400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503].map(text)

const completionErrors = [400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503].map(openAiError)

const agents = HttpApiGroup.make("agents").add(
  HttpApiEndpoint.get("list", "/agents", { success: Capabilities, error: always })
)

const runs = HttpApiGroup.make("runs").add(
  HttpApiEndpoint.post("start", "/runs", {
    payload: StartRequest,
    success: accepted,
    error: [...always, ...ofBody, unknown, conflict, refused, unavailable]
  }),
  HttpApiEndpoint.get("list", "/runs", {
    query: OwnRunsRequest,
    success: Schema.Struct({ runs: Schema.Array(Run), next }),
    error: [...always, badRequest, unavailable]
  }),
  HttpApiEndpoint.get("get", "/runs/:run", { params: run, success: Run, error: [...always, unknown, unavailable] }),
  HttpApiEndpoint.get("events", "/runs/:run/events", {
    params: run,
    headers: lastEventId,
    success: eventStream,
    error: [...always, badRequest, unknown, unavailable]
  }),
  HttpApiEndpoint.post("decide", "/runs/:run/decisions", {
    params: run,
    payload: decisions,
    success: accepted,
    error: [...always, ...ofBody, unknown, conflict, refused, unavailable]
  }),
  HttpApiEndpoint.post("stop", "/runs/:run/stop", {
    params: run,
    payload: nothing,
    success: accepted,
    error: [...always, unsupported, unknown, conflict, unavailable]
  }),
  HttpApiEndpoint.post("feedback", "/runs/:run/feedback", {
    params: run,
    payload: FeedbackRequest,
    error: [...always, ...ofBody, unknown, unavailable]
  })
)

const threads = HttpApiGroup.make("threads").add(
  HttpApiEndpoint.get("list", "/threads", {
    query: ThreadsRequest,
    success: Schema.Struct({ threads: Schema.Array(Thread), next }),
    error: [...always, badRequest, unavailable]
  }),
  HttpApiEndpoint.get("get", "/threads/:thread", {
    params: thread,
    success: Schema.Struct({ thread: Thread, messages: Schema.Array(Message) }),
    error: [...always, unknown, unavailable]
  }),
  HttpApiEndpoint.get("state", "/threads/:thread/state", {
    params: thread,
    success: Thread,
    error: [...always, unknown, unavailable]
  }),
  HttpApiEndpoint.post("branch", "/threads/:thread/branches", {
    params: thread,
    payload: BranchRequest,
    success: Thread.pipe(HttpApiSchema.status(201)),
    error: [...always, ...ofBody, unknown, unavailable]
  }),
  HttpApiEndpoint.get("answer", "/threads/:thread/answers/:run", {
    params: { ...thread, run: Schema.String },
    success: Schema.Struct({ message: Message }),
    error: [...always, unknown, unavailable]
  }),
  HttpApiEndpoint.patch("rename", "/threads/:thread", {
    params: thread,
    payload: RenameRequest,
    success: Thread,
    error: [...always, ...ofBody, unknown, unavailable]
  }),
  HttpApiEndpoint.delete("delete", "/threads/:thread", { params: thread, error: [...always, unknown, unavailable] })
)

/** The wires of front ends that have clients of their own. They stream: a client of this API gives their bytes. */
const wires = HttpApiGroup.make("wires").add(
  HttpApiEndpoint.post("useChat", "/agents/:agent/chat", {
    params: agent,
    payload: ChatRequest,
    success: eventStream,
    error: chatErrors
  }),
  HttpApiEndpoint.get("resumeChat", "/agents/:agent/chat/:thread/stream", {
    params: { ...agent, ...thread },
    query: StreamRequest,
    success: [eventStream, HttpApiSchema.NoContent],
    error: chatErrors
  }),
  HttpApiEndpoint.post("stopChat", "/agents/:agent/chat/:thread/stop", {
    params: { ...agent, ...thread },
    payload: nothing,
    error: chatErrors
  }),
  HttpApiEndpoint.post("agUi", "/agents/:agent/ag-ui", {
    params: agent,
    payload: RunAgentInput,
    success: eventStream,
    error: [...always, ...ofBody, unknown, conflict, refused, unavailable]
  }),
  HttpApiEndpoint.post("chatCompletions", "/v1/chat/completions", {
    headers: { "idempotency-key": Schema.optional(Id) },
    payload: CompletionRequest,
    success: [Completion, eventStream],
    error: completionErrors
  }),
  HttpApiEndpoint.post("responses", "/v1/responses", {
    payload: Schema.Record(Schema.String, Schema.Json),
    error: [401, 403, 415, 429, 500, 501].map(openAiError)
  }),
  HttpApiEndpoint.get("models", "/v1/models", {
    success: Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(Model) }),
    error: completionErrors
  }),
  HttpApiEndpoint.get("model", "/v1/models/:model", {
    params: { model: Schema.String },
    success: Model,
    error: completionErrors
  })
)

const Ok = Schema.Struct({ status: Schema.Literal("ok") })

const health = HttpApiGroup.make("health").add(
  HttpApiEndpoint.get("health", "/health", { success: Ok }),
  HttpApiEndpoint.get("ready", "/ready", {
    success: Ok,
    error: Schema.Struct({ status: Schema.Literal("unavailable") }).pipe(HttpApiSchema.status(503))
  })
)

const routes = HttpApi.make("recourse").add(agents).add(runs).add(threads).add(operator).add(wires).add(health)
  .annotateMerge(OpenApi.annotations({
    title: "Agents",
    version: "1",
    description: "Runs of agents, their threads, and their operators' views."
  }))

type ApiType = typeof routes

/**
 * Type of {@link api}: its groups are `agents`, `runs`, `threads`, `operator`, `wires` and `health`.
 *
 * @category models
 * @since 0.2.0
 */
export interface Api extends ApiType {}

/**
 * The routes of the server, with their inputs and outputs.
 *
 * @category constants
 * @since 0.2.0
 */
export const api: Api = routes

/**
 * The OpenAPI document of the routes, version 3.1.
 *
 * @category getters
 * @since 0.2.0
 */
export const document = (): OpenApi.OpenAPISpec => OpenApi.fromApi(api)

/**
 * A client of a server.
 *
 * @category models
 * @since 0.2.0
 */
export type Client = HttpApiClient.ForApi<typeof api>

/**
 * A typed client of a server at an address, over the `HttpClient` of the context. Answers that do not fit their schemas
 * are `SchemaError`s; a refusal of the server is a problem with a `title` by its name, `detail` and `trace_id`.
 *
 * @category constructors
 * @since 0.2.0
 */
export const client = (options: {
  readonly baseUrl: string | URL
  /** Changes each request: adds a token, for example. */
  readonly transformClient?: ((client: HttpClient.HttpClient) => HttpClient.HttpClient) | undefined
}): Effect.Effect<Client, never, HttpClient.HttpClient> => HttpApiClient.make(api, options)
