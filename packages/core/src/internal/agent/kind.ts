/** Kinds of agents that wait: what each says of its runs, so that they can be started, gone on with, and ended. */
import type * as Effect from "effect/Effect"
import type { Decision } from "../approval/decision.ts"
import type { DecisionRefused, Paused, SnapshotRefused } from "../approval/outcome.ts"
import type { Snapshot } from "../approval/snapshot.ts"
import type { Start } from "../loop/loop.ts"
import type { RunRecord } from "../run/record.ts"
import type * as Tool from "../tool/tool.ts"
import type { Mode } from "./mode.ts"

/** What a run that ended is: an output, or a pause with its record. */
export type Driven = { readonly output: unknown } | { readonly paused: Paused; readonly record: RunRecord }

/** What can be started, and gone on with. */
export interface Kind {
  readonly name: string
  readonly mayAsk: boolean
  readonly fingerprint: () => unknown
  /** Whether what waits can go on as was decided, before anything runs. `isOver`: it is only undone. */
  readonly fits: (
    snapshot: Snapshot,
    byCall: ReadonlyMap<string, Decision>,
    decisions: ReadonlyArray<Decision>,
    isOver: boolean
  ) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown>
  /** Whether all that was approved may run again: it reads, or the ledger knows whether it has run. */
  readonly isRepeatable: (snapshot: Snapshot, byCall: ReadonlyMap<string, Decision>) => boolean
  /** Whether a run that stands so is undone, or one within it, if nobody goes on with it. */
  readonly undoes: Tool.Undoes
  readonly drive: (from: Start, mode: Mode, input: unknown) => Effect.Effect<Driven, unknown, unknown>
}
