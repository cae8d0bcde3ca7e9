/**
 * Routes of runs: start, list, follow, decide, stop. Events are numbered, and a reader continues at `Last-Event-ID`.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import type { RunInfo } from "@recourse/core/Runs"
import * as Conversation from "@recourse/core/Conversation"
import { runIdOf } from "../chat/runIds.ts"
import { answered } from "../http/problem.ts"
import { body, check, checkStream, mayRun, need } from "../http/request.ts"
import { numbered } from "../wire/wires.ts"
import type { Config } from "./config.ts"
import { pageOf, queryOf } from "./listing.ts"
import { decideAs, DecideRequest, eventsOf, runParam } from "./ofRun.ts"
import { FeedbackRequest, OwnRunsRequest, StartRequest } from "../api/requests.ts"

const start = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "chat")
  const { agent, key, message, threadId } = yield* body(StartRequest, checked, config.checks)
  yield* mayRun(checked.principal, agent, config.agents)
  const owner = checked.principal.id
  const messageId = key ?? (yield* WebCrypto.WebCrypto).randomUUID()
  if (threadId !== undefined) {
    const { runId } = yield* config.chats.send({ agent, owner, thread: threadId, messageId, message })
    return yield* startedRun(config, runId, owner)
  }
  const runId = yield* runIdOf([owner, agent, messageId])
  yield* config.chats.runs.start({ agent, owner, runId, input: Conversation.encode(Prompt.make(message)) })
  return yield* startedRun(config, runId, owner)
})

/** The run as its owner may see it. */
const view = ({ owner: _, ...run }: RunInfo) => run

const startedRun = (config: Config, runId: string, owner: string) =>
  Effect.map(
    config.chats.owned.get(runId, owner),
    (run) => Response.jsonUnsafe(view(run), { status: 202, headers: { location: `/runs/${runId}` } })
  )

const get = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  return Response.jsonUnsafe(view(yield* config.chats.owned.get(yield* runParam, principal.id)))
})

const list = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const { cursor, limit = 100, ...query } = yield* queryOf(OwnRunsRequest)
  const page = yield* pageOf(config.chats.runs, { ...query, owner: principal.id, limit }, cursor, undefined)
  return Response.jsonUnsafe({ ...page, runs: page.runs.map(view) })
})

const events = Effect.fnUntraced(function*(config: Config) {
  const { principal, request } = yield* checkStream(config.checks, "chat")
  const { runId } = yield* config.chats.owned.get(yield* runParam, principal.id)
  return yield* eventsOf(config, numbered(config.shows), runId, request)
})

const decide = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "chat")
  const request = yield* body(DecideRequest, checked, config.checks)
  const by = checked.principal.id
  const run = yield* config.chats.owned.get(yield* runParam, by)
  // A chatting principal sends the results of its own page; all else is a decision.
  if (!isOfPage(run, request.decisions)) yield* need(checked.principal, "decide")
  yield* decideAs(config, run, request, by)
  return yield* startedRun(config, run.runId, by)
})

const isOfPage = ({ pending }: RunInfo, decisions: ReadonlyArray<unknown>): boolean => {
  const ofPage = new Set<unknown>(pending.flatMap(({ callId, code }) => code === "client_tool" ? [callId] : []))
  return decisions.length > 0 &&
    decisions.every((one) => typeof one === "object" && one !== null && "callId" in one && ofPage.has(one.callId))
}

const stop = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "chat")
  const runId = yield* runParam
  yield* config.chats.stop(runId, principal.id)
  return yield* startedRun(config, runId, principal.id)
})

/** A failing store of feedback is the program's own: the user reads that it failed. */
const feedback = Effect.fnUntraced(function*(config: Config, keep: NonNullable<Config["onFeedback"]>) {
  const checked = yield* check(config.checks, "chat")
  const owner = checked.principal.id
  const { comment, value } = yield* body(FeedbackRequest, checked, config.checks)
  const { agent, runId } = yield* config.chats.owned.get(yield* runParam, owner)
  yield* Effect.orDie(keep({ runId, agent, owner, value, comment, at: yield* Clock.currentTimeMillis }))
  return Response.empty({ status: 204 })
})

/** The routes of runs. */
export const runRoutes = (config: Config) => [
  HttpRouter.route("POST", "/runs", answered(start(config))),
  HttpRouter.route("GET", "/runs", answered(list(config))),
  HttpRouter.route("GET", "/runs/:run", answered(get(config))),
  HttpRouter.route("GET", "/runs/:run/events", answered(events(config))),
  HttpRouter.route("POST", "/runs/:run/decisions", answered(decide(config))),
  HttpRouter.route("POST", "/runs/:run/stop", answered(stop(config))),
  ...(config.onFeedback === undefined
    ? []
    : [HttpRouter.route("POST", "/runs/:run/feedback", answered(feedback(config, config.onFeedback)))])
]
