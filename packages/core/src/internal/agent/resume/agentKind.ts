/** Kinds of agents that wait: what each says of its runs, so that they can be started, gone on with, and ended. */
import type * as Effect from "effect/Effect"
import type { Decision } from "../../approval/decision.ts"
import type { DecisionRefused, Paused, SnapshotRefused } from "../../approval/outcome.ts"
import type { Parts } from "../../approval/compareParts.ts"
import type { Checkpoint, NestedRun, Snapshot } from "../../approval/snapshot.ts"
import type { Start } from "../../loop/loop.ts"
import type { RunRecord } from "../../run/runEntries.ts"
import type * as Tool from "../../tool/tool.ts"
import type { Explanation } from "../../approval/definitions.ts"
import type { Mode } from "../runMode.ts"

/** What a run that ended is: an output, or a pause with its record. */
export type Driven = { readonly output: unknown } | { readonly paused: Paused; readonly record: RunRecord }

/** What can be started, and gone on with. */
export interface Kind {
  readonly name: string
  readonly mayAsk: boolean
  /** What snapshots before version 4 have a hash of. */
  readonly fingerprint: () => unknown
  /** What a snapshot is compared with, as it is now. */
  readonly parts: (snapshot: Checkpoint) => Effect.Effect<Parts>
  /** Explains the snapshot of an agent that waits within. */
  readonly explainWithin: (snapshot: Checkpoint, nested: NestedRun) => Effect.Effect<Explanation, never, unknown>
  /** Whether what waits can go on as was decided, before anything runs. */
  readonly fits: (
    snapshot: Snapshot,
    byCall: ReadonlyMap<string, Decision>,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown>
  /** Whether all that was approved may run again: it reads, or the ledger knows whether it has run. */
  readonly isRepeatable: (snapshot: Snapshot, byCall: ReadonlyMap<string, Decision>) => boolean
  /** Whether a run that stands so is undone, or one within it, if nobody goes on with it. */
  readonly undoes: Tool.Undoes
  readonly drive: (from: Start, mode: Mode, input: unknown) => Effect.Effect<Driven, unknown, unknown>
}
