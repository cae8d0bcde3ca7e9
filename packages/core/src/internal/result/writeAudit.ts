/** Writes the audit records of calls, if there is an audit. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Redaction } from "../../Redaction.ts"
import { CurrentStoreTimeout } from "../../StoreTimeout.ts"
import * as Arguments from "../call/arguments/toolArguments.ts"
import { answerWithin } from "../foundation/effect/answerWithin.ts"
import { hashOf, randomId } from "../foundation/digest.ts"
import { Actor, Audit, type AuditRecord } from "../run/auditRecord.ts"
import { takeAudited } from "../call/record/admission.ts"
import type { CallRecord } from "../call/record/record.ts"
import type { AuditedCall, Verdict } from "../run/callResult.ts"
import type { Run } from "../run/run.ts"

const given = (raw: unknown): unknown => Result.getOrElse(Arguments.read(raw), () => raw)

/** A writer that interrupts itself has not written its record: its run is not one that is interrupted from outside. */
const notWritten = (cause: Cause.Cause<never>): Effect.Effect<never> =>
  Cause.hasInterruptsOnly(cause) ? Effect.die(new Error("The audit was interrupted")) : Effect.failCause(cause)

/** Writes the known facts of inner calls, once. */
export const auditWithin = (run: Run, record: CallRecord): Effect.Effect<void> => {
  const audited = takeAudited(record)
  if (audited === undefined) return Effect.void
  return Effect.forEach(audited.values(), ({ verdict, ...call }) => audit(run, call, verdict), { discard: true })
}

/** Writes a record. */
export const audit = (run: Run, call: AuditedCall, verdict: Verdict): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const write = Context.get(context, Audit)
    if (write === undefined) return Effect.void
    // A record that is not written in time has not been written, which ends the run.
    const limit = Context.get(context, CurrentStoreTimeout)
    const late = Effect.die(new Error(`The audit did not answer within ${Duration.format(limit)}`))
    const inTime = (record: AuditRecord) =>
      answerWithin(Effect.catchCause(write(record), notWritten), limit, () => late)
    const actor = Context.get(context, Actor)
    const redactor = Context.get(context, Redaction)
    return Effect.flatMap(
      Effect.all([Clock.currentTimeMillis, hashOf(given(call.args)), randomId]),
      ([at, argumentsHash, id]) =>
        inTime({
          referenceId: verdict.referenceId ?? id,
          at,
          ...(actor === undefined ? undefined : { actor }),
          runId: run.id,
          path: run.path,
          tool: call.tool,
          callId: call.id,
          argumentsHash,
          decision: verdict.decision,
          ...(verdict.by === undefined ? undefined : { by: verdict.by }),
          ...(verdict.reason === undefined ? undefined : { reason: redactor.text(verdict.reason) }),
          security: verdict.security ?? false
        })
    )
  })
