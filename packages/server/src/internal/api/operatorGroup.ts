/** The routes of operators as data. */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { Decision } from "@recourse/core/Approval"
import { RunWrite } from "@recourse/core/Compensation"
import {
  ApprovalsRequest,
  ChecksRequest,
  CompensationsRequest,
  LedgerCheckRequest,
  ListRequest,
  OutcomesRequest,
  OverviewRequest
} from "./requests.ts"
import { always, eventStream, lastEventId, nothing, ofBody } from "./routeParts.ts"
import { Check } from "../index/types.ts"
import { Counted, LedgerEntry, OperatorRun, Outcome, problems, Timeline, Waiting } from "./schemas.ts"

const run = { run: Schema.String }
const decisions = Schema.Struct({ decisions: Schema.Array(Decision) })
const next = Schema.optional(Schema.String)

/** The routes of operators. */
export const operator = HttpApiGroup.make("operator").add(
  HttpApiEndpoint.get("me", "/operator", {
    success: Schema.Struct({
      principal: Schema.Struct({
        id: Schema.String,
        rights: Schema.Array(Schema.Literals(["chat", "decide", "operate"])),
        /** The agents whose runs the operator sees. Left out: all. */
        agents: Schema.optional(Schema.Array(Schema.String))
      })
    }),
    error: always
  }),
  HttpApiEndpoint.get("runs", "/operator/runs", {
    query: ListRequest,
    success: Schema.Struct({ runs: Schema.Array(OperatorRun), next }),
    error: [...always, problems.badRequest, problems.unavailable]
  }),
  HttpApiEndpoint.get("run", "/operator/runs/:run", {
    params: run,
    success: OperatorRun,
    error: [...always, problems.unknown, problems.unavailable]
  }),
  HttpApiEndpoint.get("events", "/operator/runs/:run/events", {
    params: run,
    headers: lastEventId,
    success: eventStream,
    error: [...always, problems.badRequest, problems.unknown, problems.unavailable]
  }),
  HttpApiEndpoint.get("log", "/operator/runs/:run/log", {
    params: run,
    success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "application/x-ndjson" })),
    error: [...always, problems.unknown, problems.unavailable]
  }),
  HttpApiEndpoint.get("timeline", "/operator/runs/:run/timeline", {
    params: run,
    success: Schema.Struct({ run: OperatorRun, timeline: Timeline }),
    error: [...always, problems.unknown, problems.unavailable]
  }),
  HttpApiEndpoint.get("overview", "/operator/overview", {
    query: OverviewRequest,
    success: Counted,
    error: [...always, problems.badRequest, problems.unavailable]
  }),
  HttpApiEndpoint.get("outcomes", "/operator/outcomes", {
    query: OutcomesRequest,
    success: Schema.Struct({ outcomes: Schema.Array(Outcome) }),
    error: [...always, problems.badRequest, problems.unavailable]
  }),
  HttpApiEndpoint.get("outcomesOfRun", "/operator/runs/:run/outcomes", {
    params: run,
    success: Schema.Struct({ outcomes: Schema.Array(Outcome) }),
    error: [...always, problems.unknown, problems.unavailable]
  }),
  HttpApiEndpoint.post("check", "/operator/runs/:run/outcomes", {
    params: run,
    payload: ChecksRequest,
    success: Schema.Struct({ outcomes: Schema.Array(Outcome) }),
    error: [...always, ...ofBody, problems.unknown, problems.refused, problems.unavailable]
  }),
  HttpApiEndpoint.get("writes", "/operator/runs/:run/writes", {
    params: run,
    success: Schema.Struct({ writes: Schema.Array(RunWrite) }),
    error: [...always, problems.unknown, problems.conflict, problems.unavailable]
  }),
  HttpApiEndpoint.post("compensate", "/operator/runs/:run/compensations", {
    params: run,
    payload: CompensationsRequest,
    success: Schema.Struct({ writes: Schema.Array(RunWrite) }),
    error: [...always, ...ofBody, problems.unknown, problems.conflict, problems.refused, problems.unavailable]
  }),
  HttpApiEndpoint.get("ledger", "/operator/ledger", {
    success: Schema.Struct({ entries: Schema.Array(LedgerEntry) }),
    error: [...always, problems.unavailable]
  }),
  HttpApiEndpoint.post("checkEntry", "/operator/ledger/:entry", {
    params: { entry: Schema.String },
    payload: LedgerCheckRequest,
    success: Schema.Struct({ check: Check }),
    error: [...always, ...ofBody, problems.refused, problems.unavailable]
  }),
  HttpApiEndpoint.get("approvals", "/operator/approvals", {
    query: ApprovalsRequest,
    success: Schema.Struct({ approvals: Schema.Array(Waiting), next }),
    error: [...always, problems.badRequest, problems.unavailable]
  }),
  HttpApiEndpoint.post("decide", "/operator/runs/:run/decisions", {
    params: run,
    payload: decisions,
    success: OperatorRun.pipe(HttpApiSchema.status(202)),
    error: [...always, ...ofBody, problems.unknown, problems.conflict, problems.refused, problems.unavailable]
  }),
  HttpApiEndpoint.post("stop", "/operator/runs/:run/stop", {
    params: run,
    payload: nothing,
    success: OperatorRun.pipe(HttpApiSchema.status(202)),
    error: [...always, problems.unsupported, problems.unknown, problems.conflict, problems.unavailable]
  })
)
