/** Routes of compensation: the writes of a run that has ended, and their compensation. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import * as Compensation from "@recourse/core/Compensation"
import { type RunInfo, Runs } from "@recourse/core/Runs"
import { CompensationsRequest } from "../api/requests.ts"
import { answered } from "../http/problem.ts"
import { body, check, need } from "../http/request.ts"
import { sha256 } from "../sha256.ts"
import type { Config } from "./config.ts"
import { auditRequest } from "./operatorAudit.ts"
import { find } from "./operator.ts"

type Write = Compensation.RunWrite

const writesOf = ({ chats }: Config, { runId }: RunInfo) =>
  Effect.provideService(Compensation.writes(runId), Runs, chats.runs)

const list = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  return Response.jsonUnsafe({ writes: yield* writesOf(config, yield* find(config, principal)) })
})

const audited = (config: Config, { runId }: RunInfo, { arguments: args, callId, path, tool }: Write, by: string) =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (at) =>
      auditRequest(config, sha256(args), { at, runId, path, tool, callId, decision: "compensation_requested", by })
  )

const became = {
  compensated: "was compensated by a person. Its effect is gone.",
  not_happened: "was to be compensated by a person. It has not happened.",
  not_compensated: "was to be compensated by a person, and this failed: its effect may be there."
} as const

/** The sentence that the model of the next turn reads. */
const sentenceOf = ({ arguments: args, callId, state, tool }: Write): ReadonlyArray<string> =>
  Object.hasOwn(became, state)
    ? [`[The call ${callId} of ${tool} with the arguments ${args} ${became[state as keyof typeof became]}]`]
    : []

/** Compensates, and publishes the outcomes to the index and to the thread of the run. */
const compensated = Effect.fnUntraced(
  function*(config: Config, run: RunInfo, writes: ReadonlyArray<string> | undefined, by: string) {
    const { chats, indexer } = config
    const before = new Map((yield* writesOf(config, run)).map((write) => [write.id, write]))
    const requested = [...before.values()].filter(({ canCompensate, id }) =>
      canCompensate && (writes?.includes(id) ?? true)
    )
    yield* Effect.forEach(requested, (write) => audited(config, run, write, by), { discard: true })
    const after = yield* Effect.provideService(
      Compensation.compensate({ runId: run.runId, writes, by }),
      Runs,
      chats.runs
    )
    const changed = after.filter((write) => requested.some(({ id }) => id === write.id) && write.by === by)
    const text = changed.flatMap(sentenceOf).join("\n")
    if (text !== "") yield* chats.entries.addNote(run, text)
    yield* indexer.add(run)
    return after
  },
  // The client may disconnect at any moment: the thread gets the outcome of each compensation that has started.
  Effect.uninterruptible
)

const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "operate")
  const { principal } = checked
  yield* need(principal, "decide")
  const { writes } = yield* body(CompensationsRequest, checked, config.checks)
  const run = yield* find(config, principal)
  return Response.jsonUnsafe({ writes: yield* compensated(config, run, writes, principal.id) })
})

/** The routes of compensation. */
export const compensationRoutes = (config: Config) => [
  HttpRouter.route("GET", "/operator/runs/:run/writes", answered(list(config))),
  HttpRouter.route("POST", "/operator/runs/:run/compensations", answered(post(config)))
]
