/**
 * Hidden beginnings: of a call that has a key, or may be repeated, the journal of a run has no intent. Within a call that says that it reads,
 * nothing else tells a later life that something may have been done. So its attempts are recorded there before they begin.
 */
import * as Effect from "effect/Effect"
import type { Journal } from "../../Journal.ts"
import { noteAttempts, unnoted } from "../run/cameBy.ts"
import type { Run } from "../run/run.ts"
import type { PassThrough } from "./execution.ts"
import { type Intended, placeOfCall, withIntent, writesIntents } from "./intent.ts"
import { type AttemptError, forEachAround, outerOf } from "./record.ts"

const isHidden = ({ attempt: { call: { record } }, info }: Intended, key: string | undefined): boolean => {
  if (info.effects === "read" || info.isAgent === true || (key === undefined && writesIntents(info))) return false
  let isWithinRead = false
  forEachAround(record, ({ tool }) => void (isWithinRead ||= tool?.effects === "read"), outerOf)
  return isWithinRead
}

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

/** Executes an attempt, once the journal has all that a later life has to know of its beginning. */
export const onRecord = <A, R>(
  journal: Journal,
  run: Run,
  intended: Intended,
  key: string | undefined,
  execute: () => Effect.Effect<A, AttemptError | PassThrough, R>
): Effect.Effect<A, AttemptError | PassThrough, R> =>
  withIntent(journal, run, intended, key, () => hinted(journal, run, intended, key, execute))

/** Notes that a life has come by such a call, once it was executed or its ledger has answered. */
export const comingBy = <A, E, R>(
  journal: Journal,
  run: Run,
  intended: Intended,
  attempt: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.onExit(attempt, () =>
    Effect.sync(() => {
      if (intended.attempt.call.record.executed) noteAttempts(journal, placeOfCall(run, intended))
    }))
