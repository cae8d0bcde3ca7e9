/** Routes of threads: list, search, read, rename, delete. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as Conversation from "@recourse/core/Conversation"
import { messagesOf } from "../chat/messages.ts"
import { answered } from "../http/problem.ts"
import { body, check } from "../http/request.ts"
import type { Config } from "./config.ts"
import { queryOf } from "./listing.ts"
import { RenameRequest, ThreadsRequest } from "../api/requests.ts"

const threadParam = Effect.map(HttpRouter.params, (params) => params["thread"] ?? "")

/** A thread as its owner may see it. */
const view = ({ createdAt, id, isRunning, isWaiting, title, updatedAt, version }: typeof Conversation.Thread.Type) => ({
  id,
  ...(title === undefined ? undefined : { title }),
  version,
  createdAt,
  updatedAt,
  isRunning,
  isWaiting
})

const list = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const query = yield* queryOf(ThreadsRequest)
  const { next, threads } = yield* (yield* Conversation.Conversations).list({ ...query, owner: principal.id })
  return Response.jsonUnsafe({ threads: threads.map(view), ...(next === undefined ? undefined : { next }) })
})

const read = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const { messages, thread } = yield* messagesOf(config.chats, principal.id, yield* threadParam, config.shows)
  return Response.jsonUnsafe({ thread: view(thread), messages })
})

const rename = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "chat")
  const { title } = yield* body(RenameRequest, checked, config.checks)
  const key = { owner: checked.principal.id, thread: yield* threadParam }
  return Response.jsonUnsafe(view(yield* (yield* Conversation.Conversations).rename({ ...key, title })))
})

const remove = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  yield* config.chats.remove({ owner: principal.id, thread: yield* threadParam })
  return Response.empty({ status: 204 })
})

/** The routes of threads. */
export const threadRoutes = (config: Config) => [
  HttpRouter.route("GET", "/threads", answered(list(config))),
  HttpRouter.route("GET", "/threads/:thread", answered(read(config))),
  HttpRouter.route("PATCH", "/threads/:thread", answered(rename(config))),
  HttpRouter.route("DELETE", "/threads/:thread", answered(remove(config)))
]
