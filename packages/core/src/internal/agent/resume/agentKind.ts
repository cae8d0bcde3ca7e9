/** Kinds of agents that wait: the functions that start, resume and end their runs. */
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

/** End of a run: an output, or a pause with its record. */
export type Driven = { readonly output: unknown } | { readonly paused: Paused; readonly record: RunRecord }

/** An agent that can be started and resumed. */
export interface Kind {
  readonly name: string
  readonly mayAsk: boolean
  /** Hashed value of snapshots before version 4. */
  readonly fingerprint: () => unknown
  /** The present parts, which a snapshot is compared with. */
  readonly parts: (snapshot: Checkpoint) => Effect.Effect<Parts>
  /** Explains the snapshot of an agent that waits within. */
  readonly explainWithin: (snapshot: Checkpoint, nested: NestedRun) => Effect.Effect<Explanation, never, unknown>
  /** True if the pending calls can resume with the decisions; evaluated before any call runs. */
  readonly fits: (
    snapshot: Snapshot,
    byCall: ReadonlyMap<string, Decision>,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown>
  /** True if all approved calls may run again: they read, or the ledger records their execution. */
  readonly isRepeatable: (snapshot: Snapshot, byCall: ReadonlyMap<string, Decision>) => boolean
  /** True if a run in this state, or an inner one, is compensated when it is abandoned. */
  readonly shouldCompensate: Tool.ShouldCompensate
  readonly drive: (from: Start, mode: Mode, input: unknown) => Effect.Effect<Driven, unknown, unknown>
}
