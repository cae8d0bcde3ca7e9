/** Chat completions as a server: any OpenAI client talks to an agent, whose name is the model's. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Prompt from "effect/ai/Prompt"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as Conversation from "@recourse/core/Conversation"
import { runIdOf } from "../chat/chats.ts"
import { follow } from "../chat/segments.ts"
import { BadRequest } from "../http/errors.ts"
import { answered } from "../http/problem.ts"
import { body, check, mayRun } from "../http/request.ts"
import { eventStream } from "../http/sse.ts"
import { failureOf, outputText, usageOf } from "../wire/completionStream.ts"
import { completions } from "../wire/wires.ts"
import type { Config } from "./config.ts"
import { CompletionRequest, type Content } from "../api/requests.ts"

const mediaTypeOf = /^data:([\w.+-]+\/[\w.+-]+)[;,]/

/** A file as the model reads it. Files come as `data:` addresses: the server fetches nothing for a client. */
const fileOf = (url: string, fileName?: string): Effect.Effect<Prompt.FilePart, BadRequest> => {
  const mediaType = mediaTypeOf.exec(url)?.[1]
  return mediaType === undefined
    ? Effect.fail(new BadRequest({ problem: "Send files as data: addresses with their media type" }))
    : Effect.succeed(
      Prompt.makePart("file", { mediaType, data: url, ...(fileName === undefined ? undefined : { fileName }) })
    )
}

type Part = Exclude<typeof Content.Type, string>[number]

const partOf = (part: Part): Effect.Effect<Prompt.TextPart | Prompt.FilePart, BadRequest> => {
  switch (part.type) {
    case "text":
      return Effect.succeed(Prompt.makePart("text", { text: part.text }))
    case "image_url":
      return fileOf(part.image_url.url)
    case "file":
      return fileOf(part.file.file_data, part.file.filename)
  }
}

/** The conversation of the request. System messages of a client stand as the user's: instructions are the agent's own. */
const promptOf = ({ messages }: typeof CompletionRequest.Type): Effect.Effect<Prompt.Prompt, BadRequest> =>
  Effect.map(
    Effect.forEach(messages, ({ content, role }) =>
      Effect.map(
        Effect.forEach(typeof content === "string" ? [{ type: "text", text: content } as const] : content, partOf),
        (content) => Prompt.makeMessage(role === "assistant" ? "assistant" : "user", { content })
      )),
    Prompt.fromMessages
  )

interface Run {
  readonly agent: string
  readonly runId: string
}

/**
 * How a run without an answer is told. It has been tried, and may have done something: clients make a request again by themselves
 * where the status is 409, 429 or 500 and above, and that would be another run.
 */
const unanswered = { status: 422, headers: { "x-should-retry": "false" } }

/** One answer, when the run has ended. */
const whole = Effect.fnUntraced(function*(config: Config, run: Run, created: number) {
  const last = yield* Effect.orDie(Stream.runLast(follow(config.chats.runs, run.runId, 0)))
  const end = last._tag === "Some" && last.value.event._tag === "RunFinished" ? last.value.event : undefined
  const error = failureOf(end)
  if (error !== undefined || end === undefined) return Response.jsonUnsafe({ error }, unanswered)
  return Response.jsonUnsafe({
    id: run.runId,
    object: "chat.completion",
    created,
    model: run.agent,
    choices: [{
      index: 0,
      message: { role: "assistant", content: outputText(end.output), refusal: null },
      logprobs: null,
      finish_reason: "stop"
    }],
    usage: usageOf(end)
  })
})

/** The answer as it comes. */
const streamed = ({ frames }: Config, { agent, runId }: Run, created: number, withUsage: boolean) =>
  eventStream(
    frames.of(completions(agent, runId, created, withUsage), { runId, segment: 0 }, { behind: "data: [DONE]\n\n" })
  )

const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "chat")
  const request = yield* body(CompletionRequest, checked, config.checks)
  const agent = request.model
  yield* mayRun(checked.principal, agent, config.agents)
  if (request.messages.at(-1)?.role === "assistant") {
    return yield* new BadRequest({ problem: "The last message is not the user's" })
  }
  const owner = checked.principal.id
  const key = checked.request.headers["idempotency-key"] ?? (yield* WebCrypto.WebCrypto).randomUUID()
  const runId = yield* runIdOf([owner, agent, "completion", key])
  const prompt = yield* promptOf(request)
  yield* config.chats.runs.start({ agent, owner, runId, input: Conversation.encode(prompt) })
  const run = { agent, runId }
  const created = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return request.stream === true
    ? streamed(config, run, created, request.stream_options?.include_usage === true)
    : yield* whole(config, run, created)
})

const models = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const allowed = [...config.agents.keys()].filter((name) => principal.agents?.includes(name) ?? true)
  const data = allowed.map((id) => ({ id, object: "model", created: 0, owned_by: "recourse" }))
  return Response.jsonUnsafe({ object: "list", data })
})

/** The routes of chat completions. */
export const completionRoutes = (config: Config) => [
  HttpRouter.route("POST", "/v1/chat/completions", answered(post(config), "openai")),
  HttpRouter.route("GET", "/v1/models", answered(models(config), "openai"))
]
