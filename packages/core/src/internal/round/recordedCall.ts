/** Recorded call: a call with an outcome in the run's journal does not run again, and is not emitted again. */
import { callKey } from "../path/entryKeys.ts"
import { noteChange } from "../run/state/runState.ts"
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { NonDeterminismError } from "../../Journal.ts"
import type { RunLog } from "../run/runLog.ts"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import type { Happened } from "../call/record/outcome.ts"
import { newRecord } from "../call/record/record.ts"
import { recordStart } from "../call/execute/effects.ts"
import { provide } from "../foundation/effect/provideService.ts"
import { toJson } from "../foundation/json/jsonValue.ts"
import type { CallOutcome, CallResult, RequestedCall } from "../run/callResult.ts"
import { encodePrompt } from "../foundation/json/promptJson.ts"
import { entriesAnswering, noteLedgerAnswer } from "../run/writes/ledgerAnswers.ts"
import { CurrentRun, runSection } from "../run/run.ts"
import { readResults } from "../run/session.ts"
import { countReplayed, usedBy } from "../run/tally.ts"
import { Used } from "../run/used.ts"
import { resultsMessage } from "../run/transcript.ts"
import type { Checkpoint } from "../approval/snapshot.ts"
import type { ExecutedCall } from "../run/runEntries.ts"
import { countsOf, type RoundContext, setCounts } from "./roundContext.ts"

const Recorded = Schema.Struct({
  tool: Schema.String,
  /** The arguments of the call, in canonical JSON. */
  arguments: Schema.String,
  /** The message with the result. */
  result: Schema.Json,
  used: Used,
  /** Ids of the ledger's entries that answered the call, or calls within it, with another call's write. */
  ledgerAnswers: Schema.optionalKey(Schema.Array(Schema.String)),
  failures: Schema.Record(Schema.String, Schema.Number)
})

const decode = Schema.decodeUnknownOption(Recorded)

const keyOf = ({ run }: RoundContext, { id }: RequestedCall): string => callKey(run.start.place, id)

const argumentsOf = ({ params }: RequestedCall): string => canonicalJson(Option.getOrElse(toJson(params), () => null))

/** The outcome of a recorded write: of its executions, or of its result, which the ledger may have answered. */
const recordedHappened = ({ executed }: Used, { encoded, isFailure, uncertain }: CallResult): Happened => {
  const outcomes = executed.map((call) => (call as { readonly outcome?: unknown }).outcome)
  if (!isFailure && uncertain === true) return "unknown"
  if (!isFailure || outcomes.includes("success")) return "yes"
  const isUnknown = Object(encoded)["code"] === "outcome_unknown"
  return isUnknown || outcomes.some((one) => one !== "failure") ? "unknown" : "no"
}

/**
 * Records a write of an earlier execution: outer calls are not repeated, because they would restart the agent that
 * wrote.
 */
const noteRecordedWrite = (
  calls: RoundContext,
  { id, name }: Pick<RequestedCall, "id" | "name">,
  happened: Happened
): void => {
  const info = calls.tools.get(name)?.tool.info
  if (happened === "no" || (info !== undefined && info.effects !== "write" && !info.passesKey)) return
  const record = newRecord(id, { around: calls.within, tool: info })
  recordStart(calls.run, record, happened, () => calls.run.clock.currentTimeMillisUnsafe())
}

/**
 * Notes the writes that an agent has made before its pause: the calls around it are not repeated. A call of an agent within it, whose tools are not
 * known here, counts as a write.
 */
export const noteWritesBeforePause = (calls: RoundContext, { executed }: Checkpoint): void => {
  for (const { callId, outcome, tool } of executed as ReadonlyArray<unknown> as ReadonlyArray<ExecutedCall>) {
    const happened = outcome === "success" ? "yes" : outcome === "unknown" ? "unknown" : "no"
    noteRecordedWrite(calls, { id: callId, name: tool }, happened)
  }
}

/** Returns the outcome of a call that an earlier execution of the run recorded, with its counts. */
export const recordedOutcome = (
  calls: RoundContext,
  log: RunLog,
  call: RequestedCall
): Effect.Effect<CallOutcome> | undefined => {
  const key = keyOf(calls, call)
  const found = Option.getOrUndefined(decode(log.find("call", key)))
  if (found === undefined) return undefined
  const result = readResults([call], found.result).get(call.id)
  if (found.tool !== call.name || found.arguments !== argumentsOf(call) || result === undefined) {
    return Effect.die(new NonDeterminismError({ runId: calls.run.id, step: `call ${key}` }))
  }
  // The outer call may make this call's inner calls, and does not: it has not diverged by that.
  calls.run.log?.matchCall(calls.run.scope, call.id)
  noteChange(calls.run)
  countReplayed(calls.run, found.used)
  for (const entry of found.ledgerAnswers ?? []) noteLedgerAnswer(calls.run, entry, call.id)
  noteRecordedWrite(calls, call, recordedHappened(found.used, result))
  setCounts(calls, call, found.failures)
  return Effect.succeed({ _tag: "Done", result })
}

/** Runs a call of a run that has a journal, with a tally of its own. `within` is given the context of the call. */
export const tallying = (
  calls: RoundContext,
  within: (calls: RoundContext) => Effect.Effect<CallOutcome, unknown, unknown>
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const run = runSection(calls.run)
  return provide(within({ ...calls, run }), CurrentRun, run)
}

/** Records the outcome of a call that was run by {@link tallying}. */
export const recordCall = (calls: RoundContext, log: RunLog, result: CallResult): Effect.Effect<void> => {
  const { call } = result
  const ledgerAnswers = entriesAnswering(calls.run, call.id)
  return log.record("call", keyOf(calls, call), {
    tool: call.name,
    arguments: argumentsOf(call),
    result: encodePrompt(Prompt.fromMessages([resultsMessage([result])])),
    used: usedBy(calls.run) as Schema.Json,
    ...(ledgerAnswers.length === 0 ? undefined : { ledgerAnswers }),
    failures: countsOf(calls, call)
  })
}
