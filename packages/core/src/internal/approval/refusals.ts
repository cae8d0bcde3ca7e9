/** Snapshots of refusals: other components may fail with such refusals, as errors of their own. */
import * as Predicate from "effect/Predicate"
import type { DecisionRefused, SnapshotRefused } from "./outcome.ts"
import type { Snapshot } from "./snapshot.ts"

const refused = new WeakMap<SnapshotRefused | DecisionRefused, unknown>()

const idOf = (snapshot: unknown): unknown => Predicate.hasProperty(snapshot, "id") ? snapshot.id : undefined

/** Records a refused snapshot, or one within it. */
export const noteRefused = (error: SnapshotRefused | DecisionRefused, snapshot: unknown): void =>
  void refused.set(error, idOf(snapshot))

/** True if an error refuses a snapshot, or one of those within it. */
export const isRefusalOf = (error: SnapshotRefused, snapshot: Snapshot): boolean => {
  const of = refused.get(error)
  const isOf = (one: Snapshot): boolean =>
    one.id === of || one.round?.nested?.some(({ snapshot }) => isOf(snapshot as never)) === true
  return isOf(snapshot)
}
