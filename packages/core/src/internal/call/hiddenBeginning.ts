/**
 * Hidden beginnings: of a call that has a key, or may be repeated, the journal of a run has no intent. Within a call that says that it reads,
 * nothing else tells a later life that something may have been done. So its attempts are recorded there before they begin.
 */
import * as Effect from "effect/Effect"
import type { Journal } from "../../Journal.ts"
import { noteAttempts, unnoted } from "../run/cameBy.ts"
import type { Run } from "../run/run.ts"
import { type Intended, placeOfCall, writesIntents } from "./intent.ts"
import { forEachAround, outerOf } from "./record.ts"

/** Records an attempt that begins, if nothing else does. `key` is what it runs under. */
export const hidden = <A, E, R>(
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

const isHidden = ({ attempt: { call: { record } }, info }: Intended, key: string | undefined): boolean => {
  if (info.effects === "read" || info.isAgent === true || (key === undefined && writesIntents(info))) return false
  let isWithinRead = false
  forEachAround(record, ({ tool }) => void (isWithinRead ||= tool?.effects === "read"), outerOf)
  return isWithinRead
}

/** Notes that this life has come by such a call, once it was executed or its ledger has answered. */
export const noteMet = (run: Run | undefined, intended: Intended): void => {
  if (run?.journal?.isResumed !== true || !intended.attempt.call.record.executed) return
  noteAttempts(run.journal, placeOfCall(run, intended))
}
