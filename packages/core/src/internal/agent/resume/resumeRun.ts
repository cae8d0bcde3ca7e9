/** Resumption: paused runs resume from their snapshots, or, if abandoned, only as far as their compensation. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { CurrentJournal } from "../../../Journal.ts"
import type { Decision } from "../../approval/decision.ts"
import { SnapshotRefused } from "../../approval/outcome.ts"
import { noteRefused } from "../../approval/refusals.ts"
import { match, open, wasClaimedHere, whileClaimed } from "../../approval/seal.ts"
import type { Snapshot } from "../../approval/snapshot.ts"
import type { SnapshotKey } from "../../approval/snapshotKey.ts"
import { isCancelledReplay } from "../../run/runLog.ts"
import type { RunRecord } from "../../run/runEntries.ts"
import { CurrentRun, type Over, type Run } from "../../run/run.ts"
import type { Compensates } from "../compensation/compensationOptions.ts"
import { checkParts } from "./explainSnapshot.ts"
import type { Driven, Kind } from "./agentKind.ts"
import { type EndMode, type Mode, plain } from "../runMode.ts"
import { isPendingIn, writesIn } from "../newRun.ts"
import { isGivenBack } from "../compensation/compensationScope.ts"

const check = Effect.fnUntraced(function*(
  kind: Kind,
  value: unknown,
  decisions: ReadonlyArray<Decision>,
  over: Over | undefined
) {
  // A cancelled run calls tools only to compensate, and each decides about that.
  const isOver = over !== undefined || isCancelledReplay(yield* CurrentJournal) ||
    (yield* CurrentRun)?.log?.isCancelledReplay === true
  const snapshot = yield* open(kind.name, value)
  if (!isOver) yield* checkParts(kind, snapshot)
  const byCall = yield* Effect.fromResult(match(snapshot, decisions))
  yield* kind.fits(snapshot, byCall, decisions)
  return { snapshot, byCall, isOver }
})

/** Checks if a run can be resumed with these decisions; runs no call. */
export const checked = (kind: Kind, value: unknown, decisions: ReadonlyArray<Decision>, over: Over | undefined) =>
  Effect.tapError(check(kind, value, decisions, over), (error) => Effect.sync(() => noteRefused(error, value)))

/** Resumes a run. */
export const resumed = Effect.fnUntraced(function*(
  kind: Kind,
  value: unknown,
  decisions: ReadonlyArray<Decision>,
  mode: Mode
): Effect.fn.Return<Driven, unknown, unknown> {
  const { byCall, isOver: isEnding, snapshot } = yield* checked(kind, value, decisions, mode.over)
  let record: (() => RunRecord) | undefined
  let currentRun: Run | undefined
  const onRecord = (ended: () => RunRecord) => {
    record = ended
    mode.onRecord?.(ended)
  }
  const onStarted = (run: Run) => {
    currentRun = run
    mode.onStarted?.(run)
  }
  const going = whileClaimed(
    snapshot,
    {
      hasRun: () => record !== undefined && record().executed.length > snapshot.executed.length,
      isEnding,
      isRepeatable: () => kind.isRepeatable(snapshot, byCall),
      isOver: () => currentRun?.writes.hasWritten === true || record?.().compensations !== undefined
    },
    kind.drive(
      { checkpoint: snapshot, decisions: byCall },
      { ...mode, resumed: snapshot, onRecord, onStarted },
      undefined
    )
  )
  const context = yield* Effect.context<SnapshotKey>()
  return yield* Effect.onExitPrimitive(going, (exit) => {
    if (Exit.isSuccess(exit) || mode.over !== undefined || !Cause.hasInterruptsOnly(exit.cause)) return undefined
    if (currentRun !== undefined && !isGivenBack(currentRun, snapshot)) return undefined
    // Its snapshot is given back; whether the run around it comes back to that is known there.
    mode.onStands?.(Effect.succeed(snapshot))
    if (currentRun !== undefined) registerCleanup(kind, currentRun, mode, Effect.succeed(snapshot), context)
    return undefined
  })
})

/**
 * True if another component continues the run that was to be ended: a process that takes an interrupted run over
 * compensates it here.
 */
const isElsewhere = (error: unknown): boolean =>
  error instanceof SnapshotRefused && (error.reason === "used" || error.reason === "claimed")

const notHere = (agent: string) =>
  `The writes of agent "${agent}" before its pause are not compensated here: its snapshot is claimed already. The process that has resumed it compensates them; if a claim was lost, they stay`

/**
 * Ends an abandoned paused run: one more segment, which starts no call, compensates its writes. The process that has
 * used the snapshot ends it.
 */
export const endOver = (
  kind: Kind,
  snapshot: Snapshot,
  over: Over,
  mode: EndMode | undefined
): Effect.Effect<void, never, unknown> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const parent = Context.get(context, CurrentRun)
    if (!kind.shouldCompensate(snapshot, (id) => isPendingIn(parent, id))) return Effect.void
    const ended = resumed(kind, snapshot, [], { ...plain, ...mode, over })
    const orElsewhere = Effect.catchIf(
      ended,
      isElsewhere,
      () => wasClaimedHere(snapshot) ? Effect.void : Effect.logWarning(notHere(kind.name))
    )
    return Effect.uninterruptible(Effect.catchCause(Effect.asVoid(orElsewhere), (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.logError(`The writes of agent "${kind.name}" before its pause could not be compensated`, cause)))
  })

/** Writes of the run itself, which it compensates if it is interrupted at a pause. */
export const compensatesOwn = (
  compensates: Compensates | undefined,
  snapshot: Snapshot,
  isLeft: (id: string) => boolean
): boolean => {
  if (compensates === undefined) return false
  const { after } = compensates
  return writesIn(snapshot, undefined).some(({ id, revoked }) =>
    isLeft(id) && (after.has("interruption") || (after.has("rejection") && revoked === true))
  )
}

/** The outer run ends a paused inner run: pending calls within it end with it. */
export const registerCleanup = (
  kind: Kind,
  { agentRunId, nested, parent, start: { outerCall } }: Run,
  { onRecord, provided, step }: Mode,
  sealed: Effect.Effect<Snapshot, never, SnapshotKey>,
  context: Context.Context<SnapshotKey>
): void => {
  nested.takeCleanups()
  const end = Effect.flatMap(
    sealed,
    (snapshot) => endOver(kind, snapshot, { agentRunId, outerCall }, { step, onRecord })
  )
  parent?.nested.registerCleanup({ end: provided?.(end) ?? end, context: context as Context.Context<never> })
}
