/** Routes of outcomes: calls that a person has to check, and people's findings about them. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as Approval from "@recourse/core/Approval"
import type { RunInfo } from "@recourse/core/Runs"
import type { Check, OpenOutcome } from "../index/types.ts"
import { ChecksRequest, OutcomesRequest } from "../api/requests.ts"
import { answered } from "../http/problem.ts"
import { body, check, need } from "../http/request.ts"
import { isOpenState } from "../index/runFacts.ts"
import { sha256 } from "../sha256.ts"
import type { Config } from "./config.ts"
import { queryOf } from "./listing.ts"
import { find } from "./operator.ts"
import { auditRequest, reasonOf } from "./operatorAudit.ts"

/** Most calls of one run that are listed. */
const most = 500

const list = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const { limit = 200 } = yield* queryOf(OutcomesRequest)
  yield* config.indexer.refresh
  const outcomes = yield* config.indexer.index.outcomes({ agents: principal.agents, limit })
  return Response.jsonUnsafe({ outcomes })
})

/** The present outcomes of a run. */
const outcomesOf = ({ indexer }: Config, run: RunInfo) =>
  Effect.andThen(indexer.add(run), indexer.index.outcomes({ runId: run.runId, limit: most }))

const ofRun = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  return Response.jsonUnsafe({ outcomes: yield* outcomesOf(config, yield* find(config, principal)) })
})

const words = {
  happened: "It has happened. Do not call it again for that.",
  not_happened: "It has not happened. It may be called again if it is still wanted.",
  settled: "The rest of it was handled by hand."
} as const

/** The sentence that the model of the next turn reads. */
const reportText = ({ call }: OpenOutcome, { answer, note }: Check): string => {
  const args = call.arguments === undefined ? "" : ` with the arguments ${call.arguments}`
  const why = note === undefined || note === "" ? "" : ` (${note})`
  return `[A person has checked the call ${call.callId} of ${call.tool}${args}. ${words[answer]}${why}]`
}

const audited = (config: Config, { call, run }: OpenOutcome, check: Check) =>
  auditRequest(config, sha256(call.arguments ?? ""), {
    at: check.at,
    runId: run.runId,
    path: [run.agent],
    tool: call.tool,
    callId: call.callId,
    decision: "outcome_checked",
    by: check.by,
    reason: reasonOf(check)
  })

const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "operate")
  const { principal } = checked
  yield* need(principal, "decide")
  const { checks } = yield* body(ChecksRequest, checked, config.checks)
  const run = yield* find(config, principal)
  const outcomes = new Map((yield* outcomesOf(config, run)).map((outcome) => [outcome.call.spanId, outcome]))
  const at = yield* Clock.currentTimeMillis
  const found = yield* Effect.forEach(checks, (given) => {
    const outcome = outcomes.get(given.spanId)
    const fits = outcome !== undefined && isOpenState(outcome.call.state) &&
      (given.answer === "settled") === (outcome.call.state === "not_undone")
    return fits
      ? Effect.succeed({ outcome, answer: { ...given, by: principal.id, at } })
      : Effect.fail(
        new Approval.DecisionRefused({ reason: "unknown_call", callId: outcome?.call.callId ?? given.spanId })
      )
  })
  for (const { answer, outcome } of found) {
    yield* audited(config, outcome, answer)
    yield* config.indexer.index.check(run.runId, answer)
  }
  yield* config.chats.entries.addNote(run, found.map(({ answer, outcome }) => reportText(outcome, answer)).join("\n"))
  return Response.jsonUnsafe({ outcomes: yield* config.indexer.index.outcomes({ runId: run.runId, limit: most }) })
})

/** The routes of outcomes. */
export const outcomeRoutes = (config: Config) => [
  HttpRouter.route("GET", "/operator/outcomes", answered(list(config))),
  HttpRouter.route("GET", "/operator/runs/:run/outcomes", answered(ofRun(config))),
  HttpRouter.route("POST", "/operator/runs/:run/outcomes", answered(post(config)))
]
