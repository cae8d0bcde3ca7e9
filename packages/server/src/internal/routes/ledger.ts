/** Routes of the idempotency ledger: entries whose outcome is unknown and that no run of the index names, and the answers of people about them. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as Approval from "@recourse/core/Approval"
import type { Entry } from "@recourse/core/IdempotencyLedger"
import { RunsUnavailable } from "@recourse/core/Runs"
import type { Principal } from "../../Authentication.ts"
import { LedgerCheckRequest } from "../api/requests.ts"
import { answered } from "../http/problem.ts"
import { body, check, need } from "../http/request.ts"
import { type Check, ledgerRun } from "../index/types.ts"
import type { Config } from "./config.ts"
import { auditRequest, reasonOf } from "./operatorAudit.ts"

const most = 200

/** Entries name no agent: an operator of some agents sees none. */
const listFor = Effect.fnUntraced(function*({ indexer, ledger }: Config, { agents }: Principal) {
  if (ledger?.abandoned === undefined || agents !== undefined) return []
  const entries = yield* Effect.mapError(
    ledger.abandoned(most),
    ({ reason }) => new RunsUnavailable({ operation: "list of the ledger", reason })
  )
  yield* indexer.refresh
  const known = new Set((yield* indexer.index.outcomes({ limit: 500 })).map(({ call }) => call.entry))
  const open: Array<Entry> = []
  for (const entry of entries) {
    if (!known.has(entry.id) && (yield* indexer.index.checked(entry.id)) === undefined) open.push(entry)
  }
  return open
})

const list = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const entries = yield* listFor(config, principal)
  return Response.jsonUnsafe({
    entries: entries.map(({ callId, id, leasedUntil, startedAt, tool }) => ({
      id,
      tool,
      callId,
      startedAt,
      leasedUntil
    }))
  })
})

const audited = (config: Config, { arguments: argumentsHash, callId, tool }: Entry, check: Check) =>
  auditRequest(config, Effect.succeed(argumentsHash), {
    at: check.at,
    runId: "",
    path: [],
    tool,
    callId,
    decision: "outcome_checked",
    by: check.by,
    reason: reasonOf(check)
  })

const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "operate")
  const { principal } = checked
  yield* need(principal, "decide")
  const given = yield* body(LedgerCheckRequest, checked, config.checks)
  const id = (yield* HttpRouter.params)["entry"] ?? ""
  const entry = (yield* listFor(config, principal)).find((one) => one.id === id)
  if (entry === undefined) return yield* new Approval.DecisionRefused({ reason: "unknown_call", callId: id })
  const answer = { ...given, spanId: id, by: principal.id, at: yield* Clock.currentTimeMillis }
  yield* audited(config, entry, answer)
  yield* config.indexer.index.check(ledgerRun, answer)
  return Response.jsonUnsafe({ check: answer })
})

/** The routes of the ledger. */
export const ledgerRoutes = (config: Config) => [
  HttpRouter.route("GET", "/operator/ledger", answered(list(config))),
  HttpRouter.route("POST", "/operator/ledger/:entry", answered(post(config)))
]
