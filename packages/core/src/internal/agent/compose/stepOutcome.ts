/** Outcomes of the steps of an agent that is made of agents, and the errors of steps without one. */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Checkpoint, NestedRun, PendingCall } from "../../approval/snapshot.ts"
import { isIdBelow } from "../../path/path.ts"
import type { Form } from "../resume/valueCodec.ts"

/** Outcome of a step. */
export type Entry =
  | { readonly _tag: "Answered"; readonly value: unknown; readonly form: Form }
  /** Of an earlier execution; decoded at replay. */
  | { readonly _tag: "Stored"; readonly json: Schema.Json }
  | { readonly _tag: "Failed" }
  | {
    readonly _tag: "Waiting"
    readonly nested: NestedRun
    readonly pending: ReadonlyArray<PendingCall>
    /** Withdraws the questions; absent if an earlier execution has asked them. */
    readonly withdraw: Effect.Effect<void> | undefined
  }

/** Error of a waiting step; only within composed agents. */
export class Waits {
  readonly _tag = "Waits"
}
export const waits = new Waits()

/** Error of a step that failed before the pause. Its original error is not known any more. */
export class FailedBefore {
  readonly _tag = "FailedBefore"
}
export const lostFailure = new FailedBefore()

export const isWaits = (error: unknown): error is Waits => error instanceof Waits

/**
 * Value of a reason. If several steps have ended, one of them by a defect, effect makes defects of the parallel
 * failures.
 */
const reasonValue = (reason: Cause.Reason<unknown>): unknown =>
  Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined

export const doesWait = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => isWaits(reasonValue(reason)))

/** The failures of several steps without those that are not known any more: at least one is. */
export const known = <E>(cause: Cause.Cause<E>): Cause.Cause<E> =>
  Cause.fromReasons(
    cause.reasons.filter((reason) => !(reasonValue(reason) instanceof FailedBefore))
  )

/** The waiting agent is composed itself, so that its snapshot has steps, and waiting ones. */
export const entriesOf = ({ round, steps }: Checkpoint): Map<string, Entry> =>
  new Map([
    ...Object.entries(steps!.done).map(([id, { answer }]): readonly [string, Entry] => [
      id,
      answer === undefined ? { _tag: "Failed" } : { _tag: "Stored", json: answer }
    ]),
    ...round!.nested!.map((nested): readonly [string, Entry] => [nested.callId, {
      _tag: "Waiting",
      nested,
      pending: round!.pending.filter(({ callId }) => isIdBelow(nested.callId, callId)),
      withdraw: undefined
    }])
  ])
