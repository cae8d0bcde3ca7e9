/** Interface of runs for the loops of other programs: calls share one budget, one record and the rules of an agent's run. */
import type * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import type { Decision } from "../../approval/decision.ts"
import type { DecisionRefused } from "../../approval/outcome.ts"
import type { GivenCall } from "../../loop/singleCall.ts"
import type { Outcome } from "../../round/callOutcome.ts"
import type { RunReport } from "../../run/runEntries.ts"
import type * as Tool from "../../tool/tool.ts"
import type { ToolRunEnded } from "./toolRunEnded.ts"

/**
 * The brand of runs.
 *
 * @category type IDs
 * @since 0.2.0
 */
export const TypeId = "~@recourse/core/ToolRun" as const

/**
 * Result type of the tool of a name.
 *
 * @category utility types
 * @since 0.2.0
 */
export type SuccessOf<T, Name> = T extends Tool.Any ? Name extends T["name"] ? Tool.Success<T> : never : never

/**
 * A call that fails without a text for a model: the run has ended with the error.
 *
 * @category models
 * @since 0.2.0
 */
export interface Unhandled<E> {
  readonly _tag: "Unhandled"
  readonly error: E | ToolRunEnded
  /** The whole cause: with the defect, if it is one. */
  readonly cause: Cause.Cause<E | ToolRunEnded>
}

/**
 * A run of calls that another program's loop makes.
 *
 * @category models
 * @since 0.2.0
 */
export interface ToolRun<out T extends Tool.Any, out E> {
  readonly [TypeId]: typeof TypeId
  readonly id: string
  readonly name: string
  readonly tools: ReadonlyArray<T>
  /**
   * Runs a call. A repeated call (same id, tool and arguments) has the outcome of the first. Fails with the error that the
   * tool's recovery leaves, or with `BudgetExceeded`: then the run has ended. Interrupting it interrupts the call, and
   * the run continues. A write that the end of the run interrupts has the failure `outcome_unknown`.
   */
  readonly call: <const Name extends string>(
    call: GivenCall & { readonly name: Name }
  ) => Effect.Effect<Outcome<SuccessOf<T, Name>>, E | ToolRunEnded>
  /** Decides about a call that waits, and returns its outcome. Fails with `DecisionRefused` if no such call waits. */
  readonly decide: (decision: Decision) => Effect.Effect<Outcome<unknown>, E | DecisionRefused | ToolRunEnded>
  /** Ends the run: its loop has ended. Running calls are interrupted. Returns the record and the exit of the run. */
  readonly end: Effect.Effect<RunReport<void, E>>
  /** Cancels the run: as {@link end}, and the run ends as interrupted. */
  readonly cancel: Effect.Effect<RunReport<void, E>>
  /** Waits for the end of the run. */
  readonly report: Effect.Effect<RunReport<void, E>>
  /**
   * Aborted when the run ends in another way than by `end`: its reason is the error of the run. Pass it to the loop, and
   * the loop ends with the run.
   */
  readonly signal: AbortSignal
  /** {@link call} as a promise that is never rejected. `signal` interrupts the call. */
  readonly callPromise: <const Name extends string>(
    call: GivenCall & { readonly name: Name },
    options?: { readonly signal?: AbortSignal | undefined }
  ) => Promise<Outcome<SuccessOf<T, Name>> | Unhandled<E>>
  /** {@link decide} as a promise that is never rejected. */
  readonly decidePromise: (
    decision: Decision,
    options?: { readonly signal?: AbortSignal | undefined }
  ) => Promise<Outcome<unknown> | Unhandled<E | DecisionRefused>>
  /** {@link end} as a promise. */
  readonly endPromise: () => Promise<RunReport<void, E>>
  /** {@link cancel} as a promise. */
  readonly cancelPromise: () => Promise<RunReport<void, E>>
}

/**
 * Any run: the type that adapters take.
 *
 * @category models
 * @since 0.2.0
 */
export interface Any extends ToolRun<Tool.Any, unknown> {}
