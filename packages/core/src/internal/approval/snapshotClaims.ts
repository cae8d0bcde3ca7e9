/** Claims of snapshots in the store of resumptions: to resume one, to withdraw its question, and to end its run. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { CurrentStoreTimeout } from "../../StoreTimeout.ts"
import { answerWithin } from "../foundation/effect/answerWithin.ts"
import { type ClaimedSnapshot, type ResumptionFate, Resumptions, type Snapshot } from "./snapshot.ts"

/** Earlier resumptions must be known before any call runs: a store that does not answer ends the run. */
const inTime = <A>(context: Context.Context<never>, operation: Effect.Effect<A>): Effect.Effect<A> => {
  const limit = Context.get(context, CurrentStoreTimeout)
  const late = () => new Error(`The store of resumptions did not answer within ${Duration.format(limit)}`)
  return answerWithin(operation, limit, () => Effect.die(late()))
}

/**
 * Reports the end of a snapshot to its store when the run has ended: the run continues without waiting for an answer.
 */
const reportEnd = (context: Context.Context<never>, end: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.catchCause(
    inTime(context, end),
    (cause) =>
      Effect.logWarning("The end of a resumed run could not be recorded: its snapshot may be resumed again", cause)
  )

/** The answer of the store about a claim. */
export interface SnapshotClaim extends Partial<ClaimedSnapshot> {
  /** True if an earlier resumption was interrupted. */
  readonly isTakenOver: boolean
  /** Reports the end; absent if the store has refused the claim. */
  readonly end?: (fate: ResumptionFate) => Effect.Effect<void>
}

const refused: SnapshotClaim = { isTakenOver: false }

/** Claims a snapshot. */
export const claimSnapshot = (context: Context.Context<never>, id: string): Effect.Effect<SnapshotClaim> => {
  const { claim, release = () => Effect.void } = Context.get(context, Resumptions)
  return Effect.map(inTime(context, claim(id)), (answer): SnapshotClaim => {
    if (answer === false) return refused
    if (answer === true) {
      return {
        isTakenOver: false,
        end: (fate) => fate === "free" ? reportEnd(context, release(id)) : Effect.void
      }
    }
    if ("freeAt" in answer) return { isTakenOver: false, freeAt: answer.freeAt }
    return { isTakenOver: answer.isTakenOver, end: (fate) => reportEnd(context, answer.end(fate)) }
  })
}

/** The id of the claim that marks a snapshot as withdrawn. */
const withdrawnId = (id: string): string => `${id}/withdrawn`

/** The id of the claim under which the run of a withdrawn snapshot is ended. */
const endId = (id: string): string => `${id}/end`

/** Claims a snapshot to end its run. A withdrawn one is ended once. */
export const claimToEnd = (context: Context.Context<never>, id: string): Effect.Effect<SnapshotClaim> =>
  Effect.flatMap(claimSnapshot(context, id), (claimed) => {
    if (claimed.end !== undefined || claimed.freeAt !== undefined) return Effect.succeed(claimed)
    const toEnd = claimSnapshot(context, endId(id))
    return Effect.flatMap(claimSnapshot(context, withdrawnId(id)), (mark): Effect.Effect<SnapshotClaim> => {
      if (mark.end === undefined) return toEnd
      // It was resumed. A store without `release` keeps the mark: then the run must not be ended later, either.
      const { release } = Context.get(context, Resumptions)
      return Effect.as(Effect.andThen(release === undefined ? toEnd : Effect.void, mark.end("free")), refused)
    })
  })

/** A snapshot whose question is to be withdrawn. */
export interface Withdrawal {
  /** True if a resumption may have run its calls. */
  readonly isUnknown: boolean
  /** Withdraws the question: no resumption runs its calls any more, and its run can still be ended. */
  readonly confirm: Effect.Effect<void>
  /** Frees the snapshot again. */
  readonly cancel: Effect.Effect<void>
}

const unknownWithdrawal: Withdrawal = { isUnknown: true, confirm: Effect.void, cancel: Effect.void }

const withdraw = (context: Context.Context<never>, id: string): Effect.Effect<Withdrawal> => {
  const withdrawal = Effect.map(claimSnapshot(context, id), ({ end, isTakenOver }): Withdrawal => {
    if (end === undefined) return unknownWithdrawal
    const mark = Effect.flatMap(claimSnapshot(context, withdrawnId(id)), (mark) => mark.end?.("used") ?? Effect.void)
    return {
      isUnknown: isTakenOver,
      confirm: Effect.andThen(
        end("used"),
        Effect.catchCause(mark, (cause) => Effect.logWarning("A snapshot could not be marked as withdrawn", cause))
      ),
      cancel: end(isTakenOver ? "abandoned" : "free")
    }
  })
  return Effect.catchCause(withdrawal, (cause) =>
    Effect.as(
      Effect.logWarning("The question of a paused run could not be withdrawn: its snapshot may be resumed", cause),
      unknownWithdrawal
    ))
}

/** The ids of a snapshot, and of those of the agents that wait within. */
const idsOf = ({ id, round }: Snapshot): ReadonlyArray<string> => [
  id,
  ...(round?.nested ?? []).flatMap(({ snapshot }) => idsOf(snapshot as unknown as Snapshot))
]

/**
 * Claims a snapshot, with those of nested agents, to withdraw its question. Without an answer of the store, a resumption may have run its calls.
 */
export const withdrawSnapshot = (snapshot: Snapshot): Effect.Effect<Withdrawal> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.map(Effect.forEach(idsOf(snapshot), (id) => withdraw(context, id)), (all): Withdrawal => ({
      isUnknown: all.some(({ isUnknown }) => isUnknown),
      confirm: Effect.forEach(all, ({ confirm }) => confirm, { discard: true }),
      cancel: Effect.forEach(all, ({ cancel }) => cancel, { discard: true })
    }))
  )
