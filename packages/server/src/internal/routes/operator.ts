/** Routes of the operator: the runs of everybody, with all that is known of them. They need a right of their own. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as EventJson from "@recourse/core/EventJson"
import { type Query, type RunInfo, UnknownRun } from "@recourse/core/Runs"
import type { Principal } from "../../Authentication.ts"
import * as RunTimeline from "../../RunTimeline.ts"
import { follow } from "../chat/segments.ts"
import { answered } from "../http/problem.ts"
import { body, check, checkStream, need } from "../http/request.ts"
import { operator } from "../wire/wires.ts"
import type { Config } from "./config.ts"
import { pageOf, queryOf } from "./listing.ts"
import { decideAs, DecideRequest, eventsOf, runParam } from "./ofRun.ts"
import { ListRequest } from "../api/requests.ts"

const maySee = ({ agents }: Principal, { agent }: RunInfo): boolean => agents?.includes(agent) ?? true

/** A run that the principal may see; another one is not told from one that there is not. */
const find = Effect.fnUntraced(function*(config: Config, principal: Principal) {
  const runId = yield* runParam
  const run = yield* config.chats.runs.get(runId)
  return maySee(principal, run) ? run : yield* new UnknownRun({ runId })
})

/** A page of the runs that the principal may see. */
const page = Effect.fnUntraced(function*(config: Config, principal: Principal, more: Pick<Query, "status">) {
  const { agent, cursor, from, limit = 100, owner, run, status, to } = yield* queryOf(ListRequest)
  const query = { agent, owner, status, idPrefix: run, startedAfter: from, startedBefore: to, limit, ...more }
  return yield* pageOf(config.chats.runs, query, cursor, principal.agents)
})

const list = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  return Response.jsonUnsafe(yield* page(config, principal, {}))
})

const get = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  return Response.jsonUnsafe(yield* find(config, principal))
})

const events = Effect.fnUntraced(function*(config: Config) {
  const { principal, request } = yield* checkStream(config.checks, "operate")
  const { runId } = yield* find(config, principal)
  return yield* eventsOf(config, operator, runId, request)
})

/** What the run did, up to its end or to the pause that it waits in. */
const timeline = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const { runId } = yield* find(config, principal)
  const timeline = RunTimeline.make()
  yield* Stream.runForEach(
    follow(config.chats.runs, runId),
    ({ event, number }) =>
      Effect.sync(() => timeline.next(EventJson.encode(event) as unknown as RunTimeline.Event, number))
  )
  return Response.jsonUnsafe({ run: yield* config.chats.runs.get(runId), timeline: timeline.toJSON() })
})

/** The calls that wait for decisions, in all runs. */
const approvals = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const { next, runs } = yield* page(config, principal, { status: "waiting" })
  const approvals = runs.flatMap(({ pending, ...run }) =>
    // A page answers calls of client tools.
    pending.flatMap((call) => call.code === "client_tool" ? [] : [{ run, call }])
  )
  return Response.jsonUnsafe({ approvals, ...(next === undefined ? undefined : { next }) })
})

const decide = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "operate")
  const { principal } = checked
  yield* need(principal, "decide")
  const request = yield* body(DecideRequest, checked, config.checks)
  const run = yield* find(config, principal)
  yield* decideAs(config, run, request, principal.id)
  return Response.jsonUnsafe(yield* config.chats.runs.get(run.runId), { status: 202 })
})

const stop = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const { owner, runId } = yield* find(config, principal)
  yield* config.chats.stop(runId, owner)
  return Response.jsonUnsafe(yield* config.chats.runs.get(runId), { status: 202 })
})

/** The routes of the operator. */
export const operatorRoutes = (config: Config) => [
  HttpRouter.route("GET", "/operator/runs", answered(list(config))),
  HttpRouter.route("GET", "/operator/runs/:run", answered(get(config))),
  HttpRouter.route("GET", "/operator/runs/:run/events", answered(events(config))),
  HttpRouter.route("GET", "/operator/runs/:run/timeline", answered(timeline(config))),
  HttpRouter.route("GET", "/operator/approvals", answered(approvals(config))),
  HttpRouter.route("POST", "/operator/runs/:run/decisions", answered(decide(config))),
  HttpRouter.route("POST", "/operator/runs/:run/stop", answered(stop(config)))
]
