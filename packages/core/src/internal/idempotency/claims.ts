/**
 * Claims of idempotency keys: one call at a time may run under a key, in this process and, by leases in the store, in
 * all that share it.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import { CurrentStoreTimeout } from "../../StoreTimeout.ts"
import { answerWithin } from "../foundation/effect/answerWithin.ts"
import * as Lease from "../foundation/lease.ts"
import { Recent } from "../foundation/recentMap.ts"
import { together } from "./batchedStore.ts"

import { type Entry, type Intent, LedgerError, type Outcome, type Recorded, type Store } from "./ledgerStore.ts"

/**
 * A call's hold on a key.
 *
 * @category models
 * @since 0.2.0
 */
export interface Claim {
  readonly intent: Intent
  /**
   * Returns whether the key is still this call's. Checked before each execution; `false` if another process has taken
   * it over.
   */
  readonly confirm: Effect.Effect<boolean, LedgerError>
  /** Takes over an entry that was abandoned: from then on its holder cannot begin an execution any more. */
  readonly take: (from: Entry) => Effect.Effect<boolean, LedgerError>
  /** Records that this call executes, in an entry that it has taken over. */
  readonly resume: Effect.Effect<boolean, LedgerError>
  readonly complete: (outcome: Outcome, timeToLive: Duration.Duration) => Effect.Effect<Recorded, LedgerError>
  readonly release: Effect.Effect<void, LedgerError>
}

/**
 * Answer to a call that wants to run.
 *
 * @category models
 * @since 0.2.0
 */
export type Claimed =
  /** The intent is recorded: run. `isAgain`: an earlier execution of the run recorded it. */
  | { readonly _tag: "Begun"; readonly claim: Claim; readonly isAgain: boolean }
  /** An earlier call has started and ended with an unknown outcome. */
  | { readonly _tag: "Abandoned"; readonly entry: Entry; readonly sinceMillis: number; readonly claim: Claim }
  /** A call of another process is still at work, longer than this one was to wait. */
  | { readonly _tag: "Busy"; readonly entry: Entry; readonly sinceMillis: number }
  /** An earlier call has ended. */
  | {
    readonly _tag: "Finished"
    readonly outcome: Outcome
    readonly entry: Entry
    readonly sinceMillis: number
    readonly waited: boolean
  }
  /** The key belongs to other arguments. */
  | { readonly _tag: "Conflict" }

/** Options of claims. */
export interface Options {
  /** Lease of a claim without renewal. Absent for a store of only this process. */
  readonly lease: Duration.Duration | undefined
  /** Wait for another process's call with the same key. */
  readonly waitFor: Duration.Duration
}

/**
 * Claimant of a key of the program's own.
 *
 * @category models
 * @since 0.2.0
 */
export interface Claimant {
  readonly agent: string | undefined
  /** Identity of the tool. */
  readonly tool: object | undefined
  /**
   * Shared object of the outermost run in memory and all inner runs. Referenced weakly, because claimants outlive runs.
   */
  readonly run: WeakRef<object> | undefined
}

const isInOneRun = (one: Claimant, other: Claimant): boolean => {
  const run = one.run?.deref()
  return run !== undefined && run === other.run?.deref()
}

/**
 * True if two claimants of one key are different tools: of one name, in different agents or in one run. A tool that is
 * made for each run is one tool. Unknown for calls outside of runs.
 */
const isOtherTool = (one: Claimant | undefined, other: Claimant | undefined): boolean =>
  one?.agent !== undefined && other?.agent !== undefined && one.tool !== other.tool &&
  (one.agent !== other.agent || isInOneRun(one, other))

const isPendingOf = ({ claim }: Intent, entry: Entry): boolean => entry.claim === claim && entry.outcome === undefined

interface Running {
  readonly arguments: string
  readonly settled: Deferred.Deferred<void>
  readonly by?: Claimant | undefined
}

/**
 * Claims a key. `onClaimed` is given `settle` at the moment from which others wait for this call, so that no interruption can
 * leave them waiting: each claim settles in the end, however its call ends.
 *
 * @category models
 * @since 0.2.0
 */
export type ClaimKey = (
  intent: Intent,
  onClaimed: (settle: Effect.Effect<void>) => void,
  by?: Claimant | undefined
) => Effect.Effect<Claimed, LedgerError>

/**
 * Reopens the outcome of a write while it is compensated, for the time limit of that. A call with its key waits in this
 * process; in another one it waits, and its outcome is unknown if this process ends meanwhile. Returns the effect that
 * ends the wait.
 */
export type Reopen = (intent: Intent, during: Duration.Duration) => Effect.Effect<Effect.Effect<void>, LedgerError>

/** A store did not answer in time. */
class NoAnswer extends Error {
  readonly _tag = "NoAnswer"
}

const again = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("1 second")]).pipe(Schedule.jittered)

/** Runs an operation of a store. One that throws, dies or interrupts itself has failed. */
const contained = <A>(
  operation: LedgerError["operation"],
  run: () => Effect.Effect<A, LedgerError>
): Effect.Effect<A, LedgerError> =>
  Effect.flatMap(
    Effect.exit(Effect.suspend(run)),
    (exit) =>
      Exit.isSuccess(exit) || exit.cause.reasons.every(Cause.isFailReason)
        ? exit
        : Effect.fail(new LedgerError({ operation, reason: Cause.squash(exit.cause) }))
  )

/** Repeats an operation after transient errors, within the time that a store has. */
const bounded = <A>(
  operation: LedgerError["operation"],
  run: () => Effect.Effect<A, LedgerError>
): Effect.Effect<A, LedgerError> =>
  Effect.flatMap(CurrentStoreTimeout, (limit) =>
    answerWithin(
      Effect.retry(contained(operation, run), { schedule: again, while: (error) => error.isTransient === true }),
      limit,
      () =>
        Effect.fail(
          new LedgerError({ operation, reason: new NoAnswer(`No answer within ${Duration.format(limit)}`) })
        )
    ))

/** The store with the time limits of the program; unchanged if it is this process's own memory. */
export const limited = (store: Store): Store => ({
  begin: (intent, lease) => bounded("begin", () => store.begin(intent, lease)),
  renew: (intent, lease) => bounded("renew", () => store.renew(intent, lease)),
  take: (from, intent, lease) => bounded("take", () => store.take(from, intent, lease)),
  complete: (intent, outcome, timeToLive) => bounded("complete", () => store.complete(intent, outcome, timeToLive)),
  release: (intent) => bounded("release", () => store.release(intent)),
  reopen: store.reopen && ((intent, lease) => bounded("reopen", () => store.reopen!(intent, lease))),
  renewAll: store.renewAll && ((intents, lease) => bounded("renew", () => store.renewAll!(intents, lease))),
  find: store.find && ((ids) => bounded("find", () => store.find!(ids))),
  abandoned: store.abandoned && ((limit) => bounded("list", () => store.abandoned!(limit)))
})

const firstPoll = 50
const longestPoll = 1000
const doubtfulAtMost = 10_000
const claimantsAtMost = 10_000

/** Claims over a store. A call with a key that is running waits for the call that runs. */
// oxlint-disable-next-line max-lines-per-function -- what may be done with a claim shares its lease
export const claims = (
  ledger: Store,
  options: Options
): { readonly claim: ClaimKey; readonly reopen: Reopen; readonly isRunning: (id: string) => boolean } => {
  const duration = options.lease ?? Duration.zero
  const { look, renew, store } = together(options.lease === undefined ? ledger : limited(ledger), duration)
  const waitFor = Duration.toMillis(options.waitFor)
  const running = new Map<string, Running>()
  /**
   * Claims that may have been recorded although `begin` failed, by the entry's id. No call was executed under them.
   * They stay after their release, because a request without an answer may be executed late.
   */
  const doubtful = new Recent<string, string>(doubtfulAtMost)
  /** The claimants that have recorded an entry in this process. */
  const claimants = new Recent<string, Claimant>(claimantsAtMost)
  /** Claims whose `begin` got no answer in time. */
  const silent = new WeakSet<Intent>()

  const hold = (intent: Intent, mine: Running) => {
    /** True if the store has an entry of this claim without an outcome. */
    let hasPendingEntry = false
    const lease = options.lease === undefined
      ? undefined
      : Lease.make(options.lease, renew(intent))
    const stop = lease?.stop ?? Effect.void
    const started = (asked: Lease.Moment): Effect.Effect<void> => {
      hasPendingEntry = true
      return lease === undefined ? Effect.void : lease.start(asked)
    }
    const ended = <A>(effect: Effect.Effect<A, LedgerError>): Effect.Effect<A, LedgerError> =>
      Effect.tap(effect, () => {
        hasPendingEntry = false
        return stop
      })
    const claim: Claim = {
      intent,
      confirm: lease === undefined ? Effect.succeed(true) : lease.confirm,
      take: (from) =>
        Effect.flatMap(
          Lease.moment,
          (asked) => Effect.tap(store.take(from, intent, duration), (taken) => taken ? started(asked) : Effect.void)
        ),
      resume: store.renew(intent, duration),
      complete: (outcome, timeToLive) => ended(store.complete(intent, outcome, timeToLive)),
      release: ended(store.release(intent))
    }
    const settle = Effect.andThen(stop, () => {
      // The outcome of the call is unknown, and it is over: others need not wait until the lease has run out.
      // A store that has not answered is not waited for a second time.
      const left = hasPendingEntry
        ? store.renew(intent, Duration.zero)
        : doubtful.get(intent.id) !== intent.claim
        ? Effect.void
        : silent.has(intent)
        ? Effect.forkDetach(Effect.ignoreCause(store.release(intent)))
        : store.release(intent)
      return Effect.andThen(
        Effect.ignoreCause(left),
        Effect.suspend(() => {
          if (running.get(intent.id) === mine) running.delete(intent.id)
          return Deferred.succeed(mine.settled, undefined)
        })
      )
    })
    return { claim, settle: Effect.asVoid(settle), started }
  }

  const claim = (
    intent: Intent,
    onClaimed: (settle: Effect.Effect<void>) => void,
    waited: boolean,
    by: Claimant | undefined
  ): Effect.Effect<Claimed, LedgerError> =>
    Effect.suspend(() => {
      const other = running.get(intent.id)
      if (other !== undefined) {
        return other.arguments === intent.arguments && !isOtherTool(by, other.by)
          ? Effect.andThen(Effect.interruptible(Deferred.await(other.settled)), claim(intent, onClaimed, true, by))
          : Effect.succeed<Claimed>({ _tag: "Conflict" })
      }
      const mine: Running = { arguments: intent.arguments, settled: Deferred.makeUnsafe<void>(), by }
      running.set(intent.id, mine)
      const { claim: ownClaim, settle, started } = hold(intent, mine)
      onClaimed(settle)
      const isOther = () => isOtherTool(by, claimants.get(intent.id))
      const begin = Effect.onError(
        store.begin(intent, duration),
        (cause) =>
          Effect.sync(() => {
            doubtful.set(intent.id, intent.claim)
            if (cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error.reason instanceof NoAnswer)) {
              silent.add(intent)
            }
          })
      )
      const ask = (waitedMillis: number, poll: number): Effect.Effect<Claimed, LedgerError> =>
        Effect.flatMap(Lease.moment, (asked) =>
          Effect.flatMap(begin, (found): Effect.Effect<Claimed, LedgerError> => {
            // An entry of this claim: the answer of the first try was lost, or an earlier execution of the run started
            // it.
            if (found === undefined || (isPendingOf(intent, found.entry) && !isOther())) {
              if (by !== undefined) claimants.set(intent.id, by)
              return Effect.as(started(asked), { _tag: "Begun", claim: ownClaim, isAgain: found !== undefined })
            }
            const { entry, now } = found
            const sinceMillis = Math.max(0, now - entry.startedAt)
            if (entry.outcome === undefined && entry.claim === doubtful.get(entry.id)) {
              return Effect.andThen(store.release({ ...intent, claim: entry.claim }), ask(waitedMillis, poll))
            }
            if (entry.arguments !== intent.arguments || entry.tool !== intent.tool || isOther()) {
              return Effect.as(settle, { _tag: "Conflict" })
            }
            if (entry.outcome !== undefined) {
              const { outcome } = entry
              const hasWaited = waited || waitedMillis > 0
              return Effect.as(settle, { _tag: "Finished", outcome, entry, sinceMillis, waited: hasWaited })
            }
            const left = entry.leasedUntil - now
            if (left <= 0) return Effect.succeed({ _tag: "Abandoned", entry, sinceMillis, claim: ownClaim })
            if (waitedMillis >= waitFor) return Effect.as(settle, { _tag: "Busy", entry, sinceMillis })
            return wait(entry, left, waitedMillis, poll)
          }))
      /**
       * Waits for an entry of another process. If the store can be read, the claim calls it again only after a change.
       */
      const wait = (
        entry: Entry,
        left: number,
        waitedMillis: number,
        poll: number
      ): Effect.Effect<Claimed, LedgerError> => {
        const millis = Math.max(1, Math.min(left, poll, waitFor - waitedMillis))
        const waited = waitedMillis + millis
        const next = Math.min(longestPoll, poll * 2)
        const again = Effect.suspend(() => ask(waited, next))
        const slept = Effect.interruptible(Effect.sleep(Duration.millis(millis)))
        if (look === undefined) return Effect.andThen(slept, again)
        return Effect.flatMap(
          Effect.andThen(slept, Effect.interruptible(look(entry.id))),
          (found): Effect.Effect<Claimed, LedgerError> => {
            const leased = found === undefined ? 0 : found.entry.leasedUntil - found.now
            return found?.entry.claim !== entry.claim || found.entry.outcome !== undefined || leased <= 0 ||
                waited >= waitFor
              ? again
              : wait(entry, leased, waited, next)
          }
        )
      }
      return ask(0, firstPoll)
    })

  const reopen: Reopen = (intent, during) =>
    Effect.suspend(() => {
      const mine: Running = { arguments: intent.arguments, settled: Deferred.makeUnsafe<void>() }
      if (!running.has(intent.id)) running.set(intent.id, mine)
      const close = Effect.suspend(() => {
        if (running.get(intent.id) === mine) running.delete(intent.id)
        return Effect.asVoid(Deferred.succeed(mine.settled, undefined))
      })
      return Effect.as(Effect.onError(store.reopen?.(intent, during) ?? Effect.void, () => close), close)
    })

  const isRunning = (id: string): boolean => running.has(id)
  return { claim: (intent, onClaimed, by) => claim(intent, onClaimed, false, by), reopen, isRunning }
}
