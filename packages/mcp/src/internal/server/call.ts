/** One `tools/call`: a run of one call, which may wait for the person at the client. */
import type * as Agent from "@recourse/core/Agent"
import {
  type Decision,
  DecisionRefused,
  type Outcome,
  Snapshot,
  SnapshotKey,
  SnapshotRefused
} from "@recourse/core/Approval"
import * as ErrorProjection from "@recourse/core/ErrorProjection"
import * as RunRecord from "@recourse/core/RunRecord"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as McpSchema from "effect/ai/McpSchema"
import { failed, resultOf } from "./answer.ts"
import * as Approvals from "./approvals.ts"
import { fingerprint, type Identified } from "./request.ts"
import { open, seal } from "./state.ts"

/** Runs calls of all tools of a server. */
export type Runner =
  & Agent.Agent<Agent.GivenCall, Agent.CallAnswer, unknown, unknown>
  & Pick<Agent.Resumable<Agent.GivenCall, Agent.CallAnswer, unknown, unknown>, "start" | "resume">

/** A call that a client makes. */
export interface ClientCall {
  readonly tool: string
  readonly arguments: unknown
  /** Hash of its tool and arguments. */
  readonly fingerprint: string
  /** True if clients know a schema of its results. */
  readonly isStructured: boolean
}

type Answer = McpSchema.CallToolResult | McpSchema.InputRequired

const callId = "call_1"

/** A model's view of the call that a failure has ended: the last result of the run's conversation. */
const reportOf = (record: RunRecord.RunRecord): ErrorProjection.ToolFailure | undefined => {
  const last = record.transcript.content.at(-1)
  const part = last?.role === "tool" ? last.content.findLast((part) => part.type === "tool-result") : undefined
  return part?.type === "tool-result" && part.isFailure ? part.result as ErrorProjection.ToolFailure : undefined
}

/** A client's view of a call that failed, or was interrupted. Never a cause. */
export const failureOf = (cause: Cause.Cause<unknown>, runId: string): ErrorProjection.ToolFailure =>
  Option.getOrUndefined(Option.flatMapNullishOr(RunRecord.fromCause(cause), reportOf)) ??
    ErrorProjection.toolFailure(cause.reasons.find(Cause.isFailReason)?.error, runId)

const needsPerson = "This call needs the approval of a person"

/** A waiting call without a decision. */
const undecided = (runId: string, why: string): McpSchema.CallToolResult =>
  failed({ ...ErrorProjection.waiting(runId), message_for_model: `${needsPerson}, and ${why}. It was not made.` })

const unusable = (why: string) => new McpSchema.InvalidParams({ message: `The request state cannot be used: ${why}` })

const decodeSnapshot = Schema.decodeUnknownOption(Snapshot)

/** The waiting call that a client resumes: of this client, this tool and these arguments. */
const waitingCall = (
  keys: SnapshotKey["Service"],
  state: string,
  call: ClientCall,
  { client }: Identified
): Effect.Effect<Snapshot, McpSchema.InvalidParams> =>
  Effect.gen(function*() {
    const snapshot = Option.getOrUndefined(Option.flatMap(yield* open(keys, state), decodeSnapshot))
    const waits = snapshot?.round?.calls[0]
    if (snapshot === undefined || waits === undefined) return yield* unusable("it is not of this server")
    const isSame = snapshot.runId.startsWith(client) &&
      (yield* fingerprint(waits.name, waits.params)) === call.fingerprint
    return isSame ? snapshot : yield* unusable("it belongs to another call")
  })

/** Runs a call to its end, or to a question that the client answers with its next request. */
export const run = (
  runner: Runner,
  keys: SnapshotKey["Service"],
  call: ClientCall,
  identified: Identified
): Effect.Effect<Answer, McpSchema.InvalidParams, McpSchema.McpRequestContext> =>
  Effect.contextWith((context: Context.Context<McpSchema.McpRequestContext>) => {
    const request = Context.get(context, McpSchema.McpRequestContext)
    const { runId } = identified

    const settled = (outcome: Outcome<Agent.CallAnswer>): Effect.Effect<Answer, unknown, unknown> => {
      if (outcome._tag === "Completed") return Effect.succeed(resultOf(outcome.output, call.isStructured))
      const { pending, snapshot } = outcome
      if (!Approvals.canAsk(request)) {
        return Effect.succeed(undecided(snapshot.runId, "this client cannot ask for it"))
      }
      const session = Approvals.sessionOf(context)
      if (Option.isNone(session)) {
        return Effect.map(
          seal(keys, snapshot),
          (requestState) =>
            new McpSchema.InputRequired({ inputRequests: Approvals.inputRequests(pending), requestState })
        )
      }
      return Effect.flatMap(
        Approvals.ask(session.value, pending),
        (decisions) => decided(snapshot, decisions)
      )
    }

    const decided = (snapshot: Snapshot, decisions: Option.Option<ReadonlyArray<Decision>>) =>
      Option.isNone(decisions)
        ? Effect.succeed(undecided(snapshot.runId, "no person has decided about it"))
        : Effect.flatMap(runner.resume(snapshot, decisions.value), settled)

    const outcome = request.requestState === undefined
      ? Effect.flatMap(
        runner.start({ id: callId, name: call.tool, arguments: call.arguments }, { runId }),
        settled
      )
      : Effect.flatMap(
        waitingCall(keys, request.requestState, call, identified),
        (snapshot) => decided(snapshot, Approvals.decisionsOf(request.inputResponses, snapshot.round?.pending ?? []))
      )

    return Effect.catchCause(
      Effect.provideService(outcome, SnapshotKey, keys) as Effect.Effect<Answer, unknown>,
      (cause): Effect.Effect<Answer, McpSchema.InvalidParams> => {
        const error = cause.reasons.find(Cause.isFailReason)?.error
        if (error instanceof McpSchema.InvalidParams) return Effect.fail(error)
        if (error instanceof SnapshotRefused || error instanceof DecisionRefused) {
          return Effect.fail(unusable(error.reason))
        }
        if (Cause.hasInterrupts(cause)) return Effect.failCause(cause as Cause.Cause<never>)
        const { code, text } = ErrorProjection.forOperator(cause, runId)
        return Effect.as(
          Effect.logError(`Call of tool "${call.tool}" failed: ${code}`, text),
          failed(failureOf(cause, runId))
        )
      }
    )
  })
