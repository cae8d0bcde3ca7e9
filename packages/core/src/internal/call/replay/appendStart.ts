/** Appends the start of an attempt to the journal of its run, and the outcome of a call that a tool makes. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { RunLog } from "../../run/runLog.ts"
import { startKey } from "../../path/entryKeys.ts"
import { startedWriteFields } from "../../run/writes/recordedWrites.ts"
import type { StartEntry } from "../../run/recordedStart.ts"
import type { Run } from "../../run/run.ts"
import { storedFailures } from "./replayedFailures.ts"
import type { PassThrough } from "../execute/effects.ts"
import { writeOfStart } from "../compensableWrite.ts"
import type { AttemptError } from "../attemptError.ts"
import { type AttemptedCall, isPlainWrite, pathOfCall } from "./attemptedCall.ts"

/** True if the outcome of an attempt is committed with its entry. */
const isCommitted = (log: RunLog, { info }: AttemptedCall): boolean =>
  info.isTransaction === true && log.transaction !== undefined && isPlainWrite(info)

/** The outcome of a call that a tool makes is appended at once: the rest of that tool may take long. */
const appendOutcome = (log: RunLog, { success }: AttemptedCall, key: string, value: unknown) =>
  Effect.flatMap(
    Effect.option(Schema.encodeUnknownEffect(Schema.toCodecJson(success))(value)) as Effect.Effect<
      Option.Option<Schema.Json>
    >,
    Option.match({
      onNone: () => Effect.void,
      onSome: (value) => log.record("child", key, value ?? null)
    })
  )

/**
 * Executes an attempt, once its start is durable. A read has no start, nor has an agent that is a tool: its own calls have theirs. `key` is the
 * idempotency key that the attempt runs under.
 */
export const withStart = <A, R>(
  log: RunLog,
  run: Run,
  attempted: AttemptedCall,
  key: string | undefined,
  execute: () => Effect.Effect<A, AttemptError | PassThrough, R>
): Effect.Effect<A, AttemptError | PassThrough, R> => {
  const { attempt: { call, number }, info } = attempted
  if (info.effects === "read" || info.isAgent === true) return execute()
  const isKeyed = key !== undefined
  const isAtomic = !isKeyed && isCommitted(log, attempted)
  const write = writeOfStart({ call, encoded: undefined, info, isKeyed, live: undefined, run })
  if (isAtomic && write === undefined) return execute()
  const path = pathOfCall(run, attempted)
  const entry = startKey(path, number)
  const child = isAtomic ? path : entry
  const later = number === 1 ? "" : `@${number}`
  const start = (failed: ReadonlyArray<Schema.Json>): StartEntry => ({
    tool: info.name,
    at: run.clock.currentTimeMillisUnsafe(),
    path,
    attempt: number,
    ...(info.effects === undefined ? undefined : { effects: info.effects }),
    ...(isKeyed ? { key: call.record.claiming.claim?.intent.id ?? key } : undefined),
    ...(failed.length === 0 ? undefined : { failed }),
    ...(write && startedWriteFields(run, write, { child, isAtomic, later }))
  })
  // An earlier execution has appended it: the attempt may be repeated, or has its key.
  const appended = log.hasAppended(entry)
    ? Effect.void
    : Effect.flatMap(
      storedFailures(call.record),
      (failed) => log.record("write", entry, start(failed) as unknown as Schema.Json)
    )
  const executed = Effect.flatMap(appended, execute)
  if (call.record.parent === undefined || isAtomic) return executed as Effect.Effect<A, AttemptError | PassThrough, R>
  if (write === undefined && (isKeyed || !isPlainWrite(info))) {
    return executed as Effect.Effect<A, AttemptError | PassThrough, R>
  }
  return Effect.onExit(executed, (exit) =>
    Exit.isSuccess(exit)
      ? appendOutcome(log, attempted, entry, exit.value)
      : write === undefined || call.record.outcome.happened !== "no"
      ? Effect.void
      : log.compensations.notHappened(write.id, later)) as Effect.Effect<
      A,
      AttemptError | PassThrough,
      R
    >
}
