/** Answer of the ledger: a call whose key has an outcome ends with it. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import type { Claimed } from "../../idempotency/claims.ts"
import type { Entry } from "../../idempotency/ledgerStore.ts"
import * as Telemetry from "../../run/observe/telemetry.ts"
import { noteLedgerAnswer } from "../../run/writes/ledgerAnswers.ts"
import { emit } from "../../run/run.ts"
import { failureOutcome, numberOf, openEntry } from "../attemptLog.ts"
import { errorFields, rootOf, subjectOf } from "../record/record.ts"
import { recordStart } from "../execute/effects.ts"
import { hasStarted, isNotedByAnother, noteCompensable } from "../compensableWrite.ts"
import { noteAnswer } from "../record/outcome.ts"
import { replay } from "./storedOutcome.ts"
import type { Asking, KeyedAttempt, UnderKey } from "./keyedAttempt.ts"

const isOfRun = ({ run }: Asking, { claim, id }: Entry): boolean => claim === run?.log?.claim(id)

/** Counts a call that an earlier execution of the run has executed, and has not recorded in its journal. */
const counted = ({ asking, asking: { call, run } }: KeyedAttempt, entry: Entry, answer: UnderKey): UnderKey =>
  Effect.suspend(() => {
    const { record } = call
    if (record.outcome.executed || !isOfRun(asking, entry)) return answer
    recordStart(run, record, "yes", () => run!.clock.currentTimeMillisUnsafe())
    const executed = openEntry({ call, number: numberOf(record), run })
    return Effect.onExit(answer, (exit) =>
      Effect.sync(() => {
        executed.outcome = Exit.isSuccess(exit) ? "success" : failureOutcome(exit.cause, record)
      }))
  })

/** Notes a write of an earlier execution of the run, so that the run can compensate it. The write of another run is not this one's to compensate. */
export const noteAnswered = (
  { asking, asking: { call, run }, idempotency }: KeyedAttempt,
  value: unknown,
  entry: Entry,
  claim: string,
  encoded: Schema.Json | undefined
): void => {
  const { record } = call
  const info = record.attempts.tool!
  const { arguments: hash, callId, id, tool } = entry
  const intent = { arguments: hash, callId, claim, id, tool }
  // A write that this execution has executed itself has the position of its start.
  const { outcome: { position } } = record
  const executed = { call, encoded, info, intent, isKeyed: true, live: undefined, position, run }
  const isOfCall = idempotency.key === undefined && idempotency.id === undefined
  // An earlier execution claimed under one name for all calls of the run: the write is of the call that was noted first.
  const isOwn = isOfCall ||
    ((isOfRun(asking, entry) || hasStarted(executed, entry.claim)) && !isNotedByAnother(executed, id))
  if (isOwn) noteCompensable(executed, Exit.succeed(value))
  else noteLedgerAnswer(run, id, rootOf(record).callId)
}

/** Ends an attempt with the outcome of its key. */
export const answerFromLedger = (
  keyed: KeyedAttempt,
  { entry, outcome, sinceMillis, waited }: Extract<Claimed, { readonly _tag: "Finished" }>
): UnderKey => {
  const { asking: { call: { record }, run, success, tool } } = keyed
  const encoded = outcome._tag === "Result" ? outcome.value : undefined
  const answer = Effect.suspend(() => replay(record, { ...errorFields(record), tool }, success, outcome))
  return emit(run, () => ({ _tag: "ToolReplayed", ...subjectOf(record), entry: entry.id, waited })).pipe(
    Effect.andThen(Telemetry.spanEvent("recourse.replayed", { "recourse.waited": waited })),
    Effect.andThen(counted(keyed, entry, answer)),
    Effect.tap((value) =>
      Effect.sync(() => {
        noteAnswer(record, { value })
        noteAnswered(keyed, value, entry, entry.claim, encoded)
      })
    ),
    // A result that the schema of today cannot decode: the call happened, and its result is unknown.
    Effect.catchTag("SchemaError" as never, () => keyed.unknown(sinceMillis)),
    Effect.onExit(() => Effect.sync(() => keyed.end("replay")))
  )
}
