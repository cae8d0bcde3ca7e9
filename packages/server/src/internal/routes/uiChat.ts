/** Routes of the AI SDK's `useChat`: send, approve, regenerate, resume, stop. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import type { StartedRun } from "../chat/chats.ts"
import { filePart } from "../chat/files.ts"
import { isSaidId, messageIdOf, runIdOfMessage } from "../chat/messages.ts"
import { type Answer, type Question, questionOf } from "../chat/questions.ts"
import { userMessage } from "../chat/userMessage.ts"
import { BadRequest } from "../http/errors.ts"
import { answered } from "../http/problem.ts"
import { body, check, checkStream, mayRun, need } from "../http/request.ts"
import { eventStream, frame } from "../http/sse.ts"
import { uiMessages } from "../wire/wires.ts"
import type { Principal } from "../../Authentication.ts"
import type { Config } from "./config.ts"
import { queryOf } from "./listing.ts"
import { checkFields } from "../api/fields.ts"
import { ChatRequest, StreamRequest } from "../api/requests.ts"
import { uiChatFields, uiMessageFields } from "../api/uiChatFields.ts"

const Part = Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [
  Schema.Record(Schema.String, Schema.Unknown)
])

const Message = Schema.Struct({
  id: Schema.String,
  role: Schema.Literals(["user", "assistant", "system"]),
  parts: Schema.Array(Part)
})

const Approval = Schema.Struct({
  id: Schema.String,
  approved: Schema.Boolean,
  reason: Schema.optional(Schema.String)
})

const FilePart = Schema.Struct({
  mediaType: Schema.String,
  url: Schema.String,
  filename: Schema.optional(Schema.String)
})

const decodeMessage = Schema.decodeUnknownEffect(Message)
const decodeApproval = Schema.decodeUnknownEffect(Approval)
const decodeFile = Schema.decodeUnknownEffect(FilePart)

const unfit = (what: string) => ({ message }: Schema.SchemaError) =>
  new BadRequest({ problem: `${what} does not fit the AI SDK's protocol: ${message.replaceAll(/\s+/g, " ")}` })

/** A user's message as the model reads it. Fails with `BadRequest` for parts that a model does not read. */
const promptOf = Effect.fnUntraced(
  function*(message: typeof Message.Type): Effect.fn.Return<Prompt.Prompt, BadRequest> {
    const content: Array<Prompt.UserMessagePart> = []
    for (const [index, part] of message.parts.entries()) {
      if (part.type === "text" && typeof part["text"] === "string") {
        content.push(Prompt.makePart("text", { text: part["text"] }))
      } else if (part.type === "file") {
        const { filename, mediaType, url } = yield* Effect.mapError(decodeFile(part), unfit("A file"))
        content.push(yield* filePart({ url, mediaType, fileName: filename }, `parts[${index}]`))
      } else {
        const problem = `parts[${index}]: a message has texts and files, and no "${part.type.slice(0, 50)}"`
        return yield* new BadRequest({ problem, param: `parts[${index}]` })
      }
    }
    return Prompt.fromMessages([yield* userMessage(content, "parts")])
  }
)

/** The answers to questions that an assistant's message holds. */
const answersOf = Effect.fnUntraced(function*(
  message: typeof Message.Type,
  edits: Readonly<Record<string, { readonly [key: string]: Schema.Json }>>
): Effect.fn.Return<ReadonlyArray<readonly [Question, Answer]>, BadRequest> {
  const found: Array<readonly [Question, Answer]> = []
  for (const part of message.parts) {
    if (part["state"] !== "approval-responded") continue
    const { approved, id, reason } = yield* Effect.mapError(decodeApproval(part["approval"]), unfit("An approval"))
    const question = questionOf(id)
    if (question === undefined) return yield* new BadRequest({ problem: "An approval has an id of another server" })
    const edited = Object.hasOwn(edits, id) ? edits[id] : undefined
    found.push([
      question,
      !approved
        ? { decision: "reject", reason }
        : edited === undefined
        ? { decision: "approve" }
        : { decision: "edit", arguments: edited }
    ])
  }
  return found
})

/** The outputs of client tools that an assistant's message holds, of calls that its run waits for. */
const outputsOf = Effect.fnUntraced(function*(config: Config, owner: string, message: typeof Message.Type) {
  const runId = runIdOfMessage(message.id)
  if (runId === undefined) return []
  const calls = yield* config.chats.owned.clientCalls(yield* config.chats.owned.get(runId, owner))
  return message.parts.flatMap((part): ReadonlyArray<readonly [Question, Answer]> => {
    const question = calls.get(String(part["toolCallId"]))
    if (question === undefined) return []
    if (part["state"] === "output-error") {
      return [[question, { decision: "fail", error: typeof part["errorText"] === "string" ? part["errorText"] : null }]]
    }
    if (part["state"] !== "output-available" || part["preliminary"] === true) return []
    return [[question, { decision: "respond", result: (part["output"] ?? null) as Schema.Json }]]
  })
})

/**
 * The chunks of a run. A run that has just started, or that is followed again, is emitted from its start; for one that
 * resumes after a pause, the page has the rest.
 */
const response = (
  config: Config,
  run: Partial<StartedRun> & Pick<StartedRun, "runId"> & { readonly untilOver?: boolean },
  threadId: string
) => {
  const { runId, segment = 0 } = run
  const messageId = messageIdOf(runId)
  const frames = config.frames.of(uiMessages(messageId, threadId, config.shows), run, {
    before: segment > 0 ? frame({ type: "start", messageId, messageMetadata: { runId, threadId } }) : undefined,
    behind: "data: [DONE]\n\n"
  })
  return eventStream(frames, textHeaders)
}

const textHeaders = { "x-vercel-ai-ui-message-stream": "v1" }

const agentParam = Effect.map(HttpRouter.params, (params) => params["agent"] ?? "")
const threadParam = Effect.map(HttpRouter.params, (params) => params["thread"] ?? "")

/** The message that another answer takes the place of: the one that the page names, or the newest answer that there is. */
const answerOf = (config: Config, owner: string, { id, messageId }: typeof ChatRequest.Type) =>
  typeof messageId === "string"
    ? Effect.succeed(messageId)
    : Effect.map(config.chats.owned.current(owner, id), (run) => run === undefined ? "" : messageIdOf(run.runId))

/** `POST /agents/:agent/chat` */
const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* checkStream(config.checks, "chat")
  const { principal } = checked
  const agent = yield* agentParam
  yield* mayRun(principal, agent, config.agents)
  const request = yield* body(ChatRequest, checked, config.checks, uiChatFields)
  const thread = request.id
  const last = request.messages.at(-1)
  yield* checkFields(uiMessageFields, last, `messages[${request.messages.length - 1}]`)
  const message = yield* Effect.mapError(decodeMessage(last), unfit("The last message"))
  const owner = principal.id
  const isNew = request.trigger !== "regenerate-message"
  if (isNew && message.role === "assistant") {
    const decided = yield* answersOf(message, request.edits ?? {})
    if (decided.length > 0) yield* need(principal, "decide")
    const answers = [...decided, ...(yield* outputsOf(config, owner, message))]
    if (answers.length === 0) return yield* new BadRequest({ problem: "The last message answers no question" })
    return response(config, yield* config.chats.decide({ owner, thread, by: owner }, answers), thread)
  }
  if (isNew && message.role !== "user") {
    return yield* new BadRequest({ problem: "The last message is not the user's" })
  }
  if (isNew) {
    if (isSaidId(message.id)) {
      return yield* new BadRequest({ problem: "Earlier messages cannot be changed: send a new message" })
    }
    const said = yield* promptOf(message)
    return response(
      config,
      yield* config.chats.send({ agent, owner, thread, messageId: message.id, message: said }),
      thread
    )
  }
  const answer = yield* answerOf(config, owner, request)
  const messageId = `regenerate:${answer}:${message.id}`
  const replaces = runIdOfMessage(answer)
  return response(config, yield* config.chats.send({ agent, owner, thread, messageId, replaces }), thread)
})

/**
 * True if a page follows a waiting run. `useChat` sends no decision while a stream is open: a page whose user may
 * decide follows only on request.
 */
const followsWaiting = Effect.fnUntraced(function*({ rights }: Principal) {
  const { wait } = yield* queryOf(StreamRequest)
  return wait === undefined ? rights !== undefined && !rights.includes("decide") : wait === "true"
})

/**
 * `GET /agents/:agent/chat/:thread/stream`: the running run, or a waiting one, from its start: a page that resumes
 * builds its message again. 204 if there is none.
 */
const resume = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* checkStream(config.checks, "chat")
  const { chats } = config
  const thread = yield* threadParam
  const follows = yield* followsWaiting(principal)
  const run = yield* chats.owned.running(principal.id, thread)
  if (run !== undefined) return response(config, { runId: run.runId, untilOver: follows }, thread)
  const waiting = follows ? yield* chats.owned.current(principal.id, thread, "waiting") : undefined
  if (waiting === undefined) return Response.empty({ status: 204 })
  return response(config, { runId: waiting.runId, untilOver: true }, thread)
})

/** `POST /agents/:agent/chat/:thread/stop` */
const stop = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const thread = yield* threadParam
  const { chats } = config
  const run = (yield* chats.owned.running(principal.id, thread)) ??
    (yield* chats.owned.current(principal.id, thread, "waiting"))
  if (run !== undefined) yield* chats.stop(run.runId, principal.id, thread)
  return Response.empty({ status: 204 })
})

/** The routes of the AI SDK. */
export const uiChatRoutes = (config: Config) => [
  HttpRouter.route("POST", "/agents/:agent/chat", answered(post(config), "text")),
  HttpRouter.route("GET", "/agents/:agent/chat/:thread/stream", answered(resume(config), "text")),
  HttpRouter.route("POST", "/agents/:agent/chat/:thread/stop", answered(stop(config), "text"))
]
