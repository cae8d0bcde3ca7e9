/** Routes of threads: list, search, read, rename, delete. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as Conversation from "@recourse/core/Conversation"
import { callSpanId } from "../../RunTimeline.ts"
import { answerOf, type ChecksOf, messagesOf } from "../chat/messages.ts"
import { BadRequest } from "../http/errors.ts"
import { answered } from "../http/problem.ts"
import { body, check } from "../http/request.ts"
import type { Config } from "./config.ts"
import { queryOf } from "./listing.ts"
import { BranchRequest, RenameRequest, ThreadsRequest } from "../api/requests.ts"

const threadParam = Effect.map(HttpRouter.params, (params) => params["thread"] ?? "")

/** A thread as its owner may see it. `waiting`: the threads whose run waits, which the thread does not know of its run. */
const view = (
  { createdAt, id, isRunning, isWaiting, title, updatedAt, version }: typeof Conversation.Thread.Type,
  waiting: ReadonlySet<string>
) => ({
  id,
  ...(title === undefined ? undefined : { title }),
  version,
  createdAt,
  updatedAt,
  isRunning,
  isWaiting: isWaiting || waiting.has(id)
})

/** The view of a thread. */
const viewOf = ({ chats }: Config, thread: typeof Conversation.Thread.Type) =>
  Effect.map(chats.owned.waiting(thread.owner, [thread.id]), (waiting) => view(thread, waiting))

const list = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const query = yield* queryOf(ThreadsRequest)
  const { next, threads } = yield* (yield* Conversation.Conversations).list({ ...query, owner: principal.id })
  const waiting = yield* config.chats.owned.waiting(principal.id, threads.map(({ id }) => id))
  return Response.jsonUnsafe({
    threads: threads.map((thread) => view(thread, waiting)),
    ...(next === undefined ? undefined : { next })
  })
})

/** People's findings about the calls of a run that the page shows. */
const checksOf = ({ indexer }: Config): ChecksOf => (runId) =>
  Effect.map(
    indexer.index.outcomes({ runId, limit: 200 }),
    (outcomes) =>
      new Map(outcomes.flatMap(({ call, check }) => {
        // Calls of nested agents are not shown by their own ids.
        if (check === undefined || call.spanId !== callSpanId({ agentRunId: runId, callId: call.callId })) return []
        const { answer, at, by } = check
        return [[call.callId, { answer, at, by }] as const]
      }))
  )

const read = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const { chats, shows } = config
  const { messages, thread } = yield* messagesOf(chats, principal.id, yield* threadParam, shows, checksOf(config))
  return Response.jsonUnsafe({ thread: yield* viewOf(config, thread), messages })
})

/** The state of the thread, without its messages: pages check if it has changed. */
const state = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const key = { owner: principal.id, thread: yield* threadParam }
  yield* config.chats.adopt(key)
  const { thread } = yield* (yield* Conversation.Conversations).read({ ...key, after: behindAll })
  return Response.jsonUnsafe(yield* viewOf(config, thread))
})

/** No entry is behind this position. */
const behindAll = 2 ** 31 - 1

const rename = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "chat")
  const { title } = yield* body(RenameRequest, checked, config.checks)
  const key = { owner: checked.principal.id, thread: yield* threadParam }
  return Response.jsonUnsafe(
    yield* viewOf(config, yield* (yield* Conversation.Conversations).rename({ ...key, title }))
  )
})

const remove = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  yield* config.chats.remove({ owner: principal.id, thread: yield* threadParam })
  return Response.empty({ status: 204 })
})

/** Copies the entries before a user's message into a new thread. Their runs stay those of the first thread. */
const branch = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "chat")
  const { before, id } = yield* body(BranchRequest, checked, config.checks)
  const owner = checked.principal.id
  const key = { owner, thread: yield* threadParam }
  yield* config.chats.adopt(key)
  const conversations = yield* Conversation.Conversations
  const { entries, thread } = yield* conversations.read(key)
  const said = Conversation.visibleMessages(entries).filter(({ joinedAs, message }) =>
    message.role === "user" && joinedAs === undefined
  )
  const from = said[before]?.position
  if (from === undefined) return yield* new BadRequest({ problem: "The thread has no such message", param: "before" })
  const created = yield* conversations.create({ owner, thread: id, title: thread.title })
  if (created.version > 0) return yield* new BadRequest({ problem: "There is a thread of this id", param: "id" })
  for (const { event, runId } of entries.filter(({ position }) => position < from)) {
    const copied = conversations.append({ owner, thread: id, events: [event as Conversation.Event], runId })
    yield* Effect.catchTags(copied, { VersionConflict: Effect.die, ThreadBusy: Effect.die })
  }
  const { thread: made } = yield* conversations.read({ owner, thread: id, after: behindAll })
  return Response.jsonUnsafe(yield* viewOf(config, made), { status: 201 })
})

/** One of several answers to a message. */
const answer = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const { chats, shows } = config
  const runId = (yield* HttpRouter.params)["run"] ?? ""
  const message = yield* answerOf(chats, principal.id, yield* threadParam, runId, shows, checksOf(config))
  return Response.jsonUnsafe({ message })
})

/** The routes of threads. */
export const threadRoutes = (config: Config) => [
  HttpRouter.route("GET", "/threads", answered(list(config))),
  HttpRouter.route("GET", "/threads/:thread", answered(read(config))),
  HttpRouter.route("GET", "/threads/:thread/state", answered(state(config))),
  HttpRouter.route("POST", "/threads/:thread/branches", answered(branch(config))),
  HttpRouter.route("GET", "/threads/:thread/answers/:run", answered(answer(config))),
  HttpRouter.route("PATCH", "/threads/:thread", answered(rename(config))),
  HttpRouter.route("DELETE", "/threads/:thread", answered(remove(config)))
]
