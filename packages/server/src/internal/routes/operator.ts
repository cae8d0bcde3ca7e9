/** Routes of the operator: the runs of everybody, with all that is known of them. They need a right of their own. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as Compensation from "@recourse/core/Compensation"
import * as EventJson from "@recourse/core/EventJson"
import { type Query, type RunInfo, UnknownRun } from "@recourse/core/Runs"
import type { Principal } from "../../Authentication.ts"
import * as RunTimeline from "../../RunTimeline.ts"
import { follow } from "../chat/segments.ts"
import { answered } from "../http/problem.ts"
import { body, check, checkStream, need } from "../http/request.ts"
import { operator } from "../wire/wires.ts"
import type { Config } from "./config.ts"
import { lastOf, pageOf, queryOf } from "./listing.ts"
import { decideAs, DecideRequest, eventsOf, runParam } from "./ofRun.ts"
import { ApprovalsRequest, ListRequest, OverviewRequest } from "../api/requests.ts"

/** Whether the principal may see a run: of its agents, and of the agents that compensate for them. */
export const maySee = ({ agents }: Principal, { agent }: RunInfo): boolean =>
  agents?.some((name) => name === agent || Compensation.nameOf(name) === agent) ?? true

/** Returns a run that the principal may see; a forbidden one looks like a missing one. */
export const find = Effect.fnUntraced(function*(config: Config, principal: Principal) {
  const runId = yield* runParam
  const run = yield* config.chats.runs.get(runId)
  return maySee(principal, run) ? run : yield* new UnknownRun({ runId })
})

/** The runs that the index finds: those that were deleted meanwhile are left out. */
const foundBy = Effect.fnUntraced(
  function*({ chats, indexer }: Config, principal: Principal, request: typeof ListRequest.Type) {
    const { agent, cursor, from, limit = 100, run, to, ...filter } = request
    const agents = agent === undefined
      ? principal.agents
      : principal.agents?.includes(agent) ?? true
      ? [agent]
      : []
    const found = yield* indexer.index.find({
      ...filter,
      agents,
      idPrefix: run,
      startedAfter: from,
      startedBefore: to,
      behind: cursor === undefined ? undefined : lastOf(cursor),
      limit: limit + 1
    })
    const page = found.slice(0, limit)
    const last = found.length > limit ? page.at(-1) : undefined
    const there = ({ runId }: Pick<RunInfo, "runId">) =>
      Effect.matchEffect(chats.runs.get(runId), {
        onSuccess: (run) => Effect.succeed<ReadonlyArray<RunInfo>>([run]),
        onFailure: (error) =>
          error._tag === "UnknownRun" ? Effect.succeed<ReadonlyArray<RunInfo>>([]) : Effect.fail(error)
      })
    const runs = yield* Effect.forEach(page, there, { concurrency: 8 })
    return {
      runs: runs.flat().filter((run) => maySee(principal, run)),
      ...(last === undefined ? undefined : { next: `${last.startedAt}.${last.runId}` })
    }
  }
)

const ofIndex = ["text", "tool", "code", "state", "minWorked", "minCost", "like"] as const

/** A page of the runs that the principal may see, with their summaries. */
const list = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const request = yield* queryOf(ListRequest)
  const { agent, cursor, from, limit = 100, owner, run, status, to } = request
  const query = { agent, owner, status, idPrefix: run, startedAfter: from, startedBefore: to, limit }
  yield* config.indexer.refresh
  const { next, runs } = ofIndex.some((field) => request[field] !== undefined)
    ? yield* foundBy(config, principal, request)
    : yield* pageOf(config.chats.runs, query, cursor, principal.agents)
  const summaries = yield* config.indexer.index.summaries(runs.map(({ runId }) => runId))
  const rows = runs.map((run) => ({ ...run, summary: summaries.get(run.runId)?.summary }))
  return Response.jsonUnsafe({ runs: rows, ...(next === undefined ? undefined : { next }) })
})

const get = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const run = yield* find(config, principal)
  const summaries = yield* config.indexer.index.summaries([run.runId])
  return Response.jsonUnsafe({ ...run, summary: summaries.get(run.runId)?.summary })
})

/** The operator, and that person's rights. */
const me = Effect.fnUntraced(function*(config: Config) {
  const { principal: { agents, id, rights } } = yield* check(config.checks, "operate")
  return Response.jsonUnsafe({
    principal: { id, rights: rights ?? [], ...(agents === undefined ? undefined : { agents }) }
  })
})

const overview = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const now = yield* Clock.currentTimeMillis
  const { from = now - day, parts = 24, to = now } = yield* queryOf(OverviewRequest)
  yield* config.indexer.refresh
  const query = { from: Math.trunc(from), to: Math.trunc(to), parts, agents: principal.agents }
  const counts = yield* config.indexer.index.overview(query)
  return Response.jsonUnsafe({ ...counts, isComplete: config.indexer.isComplete })
})

const day = 86_400_000

const events = Effect.fnUntraced(function*(config: Config) {
  const { principal, request } = yield* checkStream(config.checks, "operate")
  const { runId } = yield* find(config, principal)
  return yield* eventsOf(config, operator, runId, request)
})

/** The run's work, up to its end or to its present pause. */
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
  const { agent, cursor, from, limit = 100, owner, run, to } = yield* queryOf(ApprovalsRequest)
  const query: Query = { agent, owner, status: "waiting", idPrefix: run, startedAfter: from, startedBefore: to }
  const { next, runs } = yield* pageOf(config.chats.runs, { ...query, limit }, cursor, principal.agents)
  yield* config.indexer.refresh
  const summaries = yield* config.indexer.index.summaries(runs.map(({ runId }) => runId))
  const approvals = runs.flatMap(({ pending, ...run }) => {
    const summary = summaries.get(run.runId)?.summary
    // A page answers calls of client tools.
    return pending.flatMap((call) => call.code === "client_tool" ? [] : [{ run: { ...run, summary }, call }])
  })
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
  HttpRouter.route("GET", "/operator", answered(me(config))),
  HttpRouter.route("GET", "/operator/runs", answered(list(config))),
  HttpRouter.route("GET", "/operator/runs/:run", answered(get(config))),
  HttpRouter.route("GET", "/operator/runs/:run/events", answered(events(config))),
  HttpRouter.route("GET", "/operator/runs/:run/timeline", answered(timeline(config))),
  HttpRouter.route("GET", "/operator/overview", answered(overview(config))),
  HttpRouter.route("GET", "/operator/approvals", answered(approvals(config))),
  HttpRouter.route("POST", "/operator/runs/:run/decisions", answered(decide(config))),
  HttpRouter.route("POST", "/operator/runs/:run/stop", answered(stop(config)))
]
