/** Chat completions as a server: any OpenAI client talks to an agent, whose name is the model's. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as Conversation from "@recourse/core/Conversation"
import { runIdOf } from "../chat/runIds.ts"
import { promptOf } from "../chat/completionPrompt.ts"
import { follow } from "../chat/segments.ts"
import { BadRequest } from "../http/errors.ts"
import { answered } from "../http/problem.ts"
import { body, check, mayRun } from "../http/request.ts"
import { eventStream } from "../http/sse.ts"
import { CutText, failureOf, outputText, usageOf } from "../wire/completionStream.ts"
import { completions } from "../wire/wires.ts"
import type { Config } from "./config.ts"
import { completionFields } from "../api/completionFields.ts"
import { CompletionRequest } from "../api/requests.ts"

interface Run {
  readonly agent: string
  readonly runId: string
}

/**
 * Answer for a run without an answer. It was tried, and may have had an effect. Clients repeat a request themselves if
 * the status is 409, 429 or 500 and above, and that would be another run.
 */
const unanswered = { status: 422, headers: { "x-should-retry": "false" } }

/** One answer, when the run has ended. */
const whole = Effect.fnUntraced(function*(config: Config, run: Run, created: number, maxTokens: number | undefined) {
  const last = yield* Effect.orDie(Stream.runLast(follow(config.chats.runs, run.runId, 0)))
  yield* config.chats.turns.settled(run.runId)
  const end = last._tag === "Some" && last.value.event._tag === "RunFinished" ? last.value.event : undefined
  const error = failureOf(end)
  if (error !== undefined || end === undefined) return Response.jsonUnsafe({ error }, unanswered)
  const cut = new CutText(maxTokens)
  const content = cut.next(outputText(end.output))
  return Response.jsonUnsafe({
    id: run.runId,
    object: "chat.completion",
    created,
    model: run.agent,
    choices: [{
      index: 0,
      message: { role: "assistant", content, refusal: null },
      logprobs: null,
      finish_reason: cut.isCut ? "length" : "stop"
    }],
    usage: usageOf(end)
  })
})

const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "chat")
  const request = yield* body(CompletionRequest, checked, config.checks, completionFields)
  const agent = request.model
  yield* mayRun(checked.principal, agent, config.agents)
  if (request.messages.at(-1)?.role === "assistant") {
    return yield* new BadRequest({ problem: "messages: the last message is the assistant's", param: "messages" })
  }
  const owner = checked.principal.id
  const isStream = request.stream === true
  if (isStream) yield* config.checks.limits.stream(checked.principal)
  const key = checked.request.headers["idempotency-key"] ?? (yield* WebCrypto.WebCrypto).randomUUID()
  const runId = yield* runIdOf([owner, agent, "completion", key])
  const prompt = yield* promptOf(request.messages)
  const { isNew } = yield* config.chats.runs.start({ agent, owner, runId, input: Conversation.encode(prompt) })
  if (isNew) yield* config.chats.turns.endAtPause(runId)
  const created = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? undefined
  if (!isStream) return yield* whole(config, { agent, runId }, created, maxTokens)
  const withUsage = request.stream_options?.include_usage === true
  const wire = completions({ agent, runId, created, withUsage, maxTokens })
  return eventStream(config.frames.of(wire, { runId, segment: 0 }, { behind: "data: [DONE]\n\n" }))
})

/** An agent as a model of OpenAI's protocol. */
const modelOf = (id: string) => ({ id, object: "model", created: 0, owned_by: "recourse" })

const models = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const allowed = [...config.agents.keys()].filter((name) => principal.agents?.includes(name) ?? true)
  return Response.jsonUnsafe({ object: "list", data: allowed.map(modelOf) })
})

const model = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const { model = "" } = yield* HttpRouter.params
  yield* mayRun(principal, model, config.agents)
  return Response.jsonUnsafe(modelOf(model))
})

/** The Responses protocol is not served: its clients are referred to the served one. */
const responses = Effect.fnUntraced(function*(config: Config) {
  yield* check(config.checks, "chat")
  const message = "This server does not speak the Responses protocol. Send chat completions to /v1/chat/completions."
  const error = { message, type: "invalid_request_error", param: null, code: "not_implemented" }
  return Response.jsonUnsafe({ error }, { status: 501, headers: { "x-should-retry": "false" } })
})

/** The routes of chat completions. */
export const completionRoutes = (config: Config) => [
  HttpRouter.route("POST", "/v1/chat/completions", answered(post(config), "openai")),
  HttpRouter.route("POST", "/v1/responses", answered(responses(config), "openai")),
  HttpRouter.route("GET", "/v1/models", answered(models(config), "openai")),
  HttpRouter.route("GET", "/v1/models/:model", answered(model(config), "openai"))
]
