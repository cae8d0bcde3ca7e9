/** Snapshot signatures: signs snapshots and verifies those that come back. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { randomId } from "../foundation/digest.ts"
import { givenJson } from "../foundation/json/givenJson.ts"
import { toJson } from "../foundation/json/jsonValue.ts"
import { Recent } from "../foundation/recentMap.ts"
import { sign, verify } from "../foundation/signature.ts"
import { type Decision, decodeDecisions } from "./decision.ts"
import { definitionsOf, type Parts } from "./compareParts.ts"
import { DecisionRefused, SnapshotRefused } from "./outcome.ts"
import { noteRefused } from "./refusals.ts"
import { type Checkpoint, type ClaimedSnapshot, Snapshot, versions } from "./snapshot.ts"
import { claimSnapshot, claimToEnd } from "./snapshotClaims.ts"
import { keysOf, SnapshotKey } from "./snapshotKey.ts"

/** Makes a snapshot of the state of a run. */
export const seal = Effect.fnUntraced(
  function*(checkpoint: Checkpoint, parts: Parts): Effect.fn.Return<Snapshot, never, SnapshotKey> {
    const [current] = keysOf(yield* SnapshotKey)
    const id = `snapshot_${yield* randomId}`
    const unsigned = { ...checkpoint, id, tools: yield* definitionsOf(checkpoint, parts) }
    // The signature covers the value after a round trip through JSON.
    const payload = JSON.parse(JSON.stringify(unsigned)) as typeof unsigned
    return { ...payload, mac: yield* sign(current, payload) }
  }
)

const decodeSnapshot = Schema.decodeUnknownResult(Snapshot)

const decode = (value: unknown): Snapshot | undefined =>
  Option.getOrUndefined(
    Option.flatMap(toJson(value), (json) => Result.getSuccess(decodeSnapshot(json, { onExcessProperty: "error" })))
  )

const isOtherVersion = (u: unknown): boolean =>
  typeof u === "object" && u !== null && "version" in u && typeof u.version === "number" &&
  !versions.some((version) => version === u.version)

/** Opens a snapshot: one signed by this library, for this agent, regardless of its tools. */
export const open = Effect.fnUntraced(function*(
  agent: string,
  given: unknown
): Effect.fn.Return<Snapshot, SnapshotRefused, SnapshotKey> {
  // A program may have stored it as JSON text.
  const value = givenJson(given)
  const refuse = (reason: SnapshotRefused["reason"]) => Effect.fail(new SnapshotRefused({ agent, reason }))
  if (isOtherVersion(value)) return yield* refuse("version")
  const snapshot = decode(value)
  if (snapshot === undefined) return yield* refuse("tampered")
  const { mac, ...signed } = snapshot
  let isSigned = false
  for (const key of keysOf(yield* SnapshotKey)) isSigned ||= yield* verify(key, mac, signed)
  if (!isSigned) return yield* refuse("tampered")
  if (signed.agent !== agent) return yield* refuse("agent")
  return snapshot
})

/** Effects that release the claims of this resumption: its own, and those of ended nested ones. */
const Claimed: Context.Reference<Array<Effect.Effect<void>> | undefined> = Context.Reference<
  Array<Effect.Effect<void>> | undefined
>("@recourse/core/Approval/Claimed", { defaultValue: () => undefined })

/** The last snapshots that this process has resumed: it ends them itself. */
const claimedHere = new Recent<string, true>(1_000)

/** True if this process has resumed a snapshot. */
export const wasClaimedHere = ({ id }: Snapshot): boolean => claimedHere.has(id)

const isRefused = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error instanceof SnapshotRefused)

/** True if a resumption ended with only a defect: a store or an audit that failed, for example. */
const hasDied = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.hasDies(exit.cause) && !Cause.hasFails(exit.cause)

/**
 * Resumes a snapshot, once. If it is interrupted or dies before a tool has run, the snapshot is released, with claimed
 * ones of nested agents: no part of it has happened. A resumption that was interrupted is taken over, if the approved
 * calls may run again.
 */
export const whileClaimed = <A, E, R>(
  snapshot: Snapshot,
  run: {
    /** True if this resumption has run a tool. */
    readonly hasRun: () => boolean
    /** True if all approved calls may run, though an earlier resumption may have run them. */
    readonly isRepeatable: () => boolean
    /** True if a write was compensated, or would be repeated: then the snapshot is not resumed. */
    readonly isOver: () => boolean
    /** True if the run is only ended, and starts no call. */
    readonly isEnding: boolean
  },
  resumption: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SnapshotRefused, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.contextWith((context: Context.Context<never>) => {
      const around = Context.get(context, Claimed)
      const refuse = (reason: SnapshotRefused["reason"], more?: ClaimedSnapshot) => {
        const error = new SnapshotRefused({ agent: snapshot.agent, reason, ...more })
        noteRefused(error, snapshot)
        return Effect.fail(error)
      }
      // Whoever was stopped meanwhile has ended by that, whatever the store says: the run around it has its own end.
      const claiming = Effect.catchCause(
        run.isEnding ? claimToEnd(context, snapshot.id) : claimSnapshot(context, snapshot.id),
        (cause) => restore(Effect.failCause(cause))
      )
      return Effect.flatMap(claiming, ({ end, freeAt, isTakenOver }): Effect.Effect<A, E | SnapshotRefused, R> => {
        if (freeAt !== undefined) return restore(refuse("claimed", { freeAt }))
        if (end === undefined) return restore(refuse("used"))
        claimedHere.set(snapshot.id, true)
        const claimed = [end(isTakenOver ? "abandoned" : "free")]
        const resumed: Effect.Effect<A, E | SnapshotRefused, R> = isTakenOver && !run.isRepeatable()
          ? restore(refuse("abandoned"))
          : restore(Effect.provideService(resumption, Claimed, claimed)) as Effect.Effect<A, E, R>
        return Effect.onExit(resumed, (exit) => {
          const isInterrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
          if ((isInterrupted || hasDied(exit)) && !run.hasRun() && !run.isOver()) {
            return Effect.forEach(claimed, (free) => free, { discard: true })
          }
          around?.push(...claimed)
          if (run.isOver()) return end("used")
          return end(isInterrupted || (Exit.isFailure(exit) && isRefused(exit.cause)) ? "abandoned" : "used")
        })
      })
    })
  )

/** The decisions by call, each about the arguments that wait. They come from outside, whatever their type says. */
export const match = (
  snapshot: Snapshot,
  decisions: ReadonlyArray<Decision>
): Result.Result<ReadonlyMap<string, Decision>, DecisionRefused> => {
  const byCall = new Map<string, Decision>()
  const decoded = decodeDecisions(decisions)
  if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
  for (const decision of decoded.success) {
    const { callId } = decision
    const pending = snapshot.round?.pending.find((call) => call.callId === callId)
    const reason = pending === undefined
      ? "unknown_call"
      : pending.argumentsHash !== decision.argumentsHash
      ? "other_arguments"
      : byCall.has(callId)
      ? "twice"
      : pending.code === "client_tool" && (decision._tag === "Approve" || decision._tag === "Edit")
      ? "client_tool"
      : pending.code !== "client_tool" && decision._tag === "Fail"
      ? "no_client_tool"
      : undefined
    if (reason !== undefined) return Result.fail(new DecisionRefused({ callId, reason }))
    byCall.set(callId, decision)
  }
  return Result.succeed(byCall)
}
