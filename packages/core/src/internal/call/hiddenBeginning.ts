/**
 * Starts of attempts that have no intent in the journal, because they have a key or may be repeated. Within another call no other record tells a
 * later execution that they started: so each of them is recorded before it starts.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Journal } from "../../Journal.ts"
import { hasAttempts, noteAttempts, unnoted } from "../run/cameBy.ts"
import type { Run } from "../run/run.ts"
import type { PassThrough } from "./execution.ts"
import { type Intended, placeOfCall, withIntent, writesIntents } from "./intent.ts"
import type { AttemptError } from "./attemptError.ts"
import { outerOf, rootOf } from "./outerCalls.ts"

const isHidden = ({ attempt: { call: { record } }, info }: Intended, key: string | undefined): boolean =>
  info.effects !== "read" && info.isAgent !== true && (key !== undefined || !writesIntents(info)) &&
  outerOf(record) !== undefined

/** Records an attempt that begins, if nothing else does. `key` is what it runs under. */
const hinted = <A, E, R>(
  journal: Journal,
  run: Run,
  intended: Intended,
  key: string | undefined,
  execute: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (!isHidden(intended, key)) return execute()
  const place = `${placeOfCall(run, intended)}/${intended.attempt.number}`
  // That it begins does not mean that this life comes by what an earlier one has done.
  if (unnoted(journal).find("write", place) !== undefined) return execute()
  return Effect.flatMap(journal.record("write", place, true), execute)
}

/**
 * Whether an earlier execution of the run may have started a call that has a key. Of a call of the model the journal has no start: each whose
 * answer is replayed may have started.
 */
export const mayHaveStarted = (run: Run | undefined, intended: Intended): boolean => {
  const { record } = intended.attempt.call
  if (run?.journal?.isResumed !== true || record.outcome.executed || !rootOf(record).replay.mayHaveBegun) return false
  return outerOf(record) === undefined || hasAttempts(run.journal, placeOfCall(run, intended))
}

/** Notes that the attempts of a call that earlier executions have recorded are met. */
export const noteMet = (run: Run, intended: Intended): void => noteAttempts(run.journal!, placeOfCall(run, intended))

/** Executes an attempt, once the journal has all that a later life has to know of its beginning. */
export const onRecord = <A, R>(
  journal: Journal,
  run: Run,
  intended: Intended,
  key: string | undefined,
  execute: () => Effect.Effect<A, AttemptError | PassThrough, R>
): Effect.Effect<A, AttemptError | PassThrough, R> =>
  withIntent(journal, run, intended, key, () => hinted(journal, run, intended, key, execute))

/** Notes that the attempts of a call are met, once it was executed or its ledger has answered. */
export const comingBy = <A, E, R>(
  run: Run,
  intended: Intended,
  attempt: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.onExit(attempt, (exit) =>
    Effect.sync(() => {
      if (Exit.isSuccess(exit) || intended.attempt.call.record.outcome.executed) noteMet(run, intended)
    }))
