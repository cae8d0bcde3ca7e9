/**
 * Budgets: how much a run may use. An agent's caps hold for the agent and everything nested in it (fixers, agents used
 * as tools). A nested agent's own caps hold below those of its parents, never instead of them.
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

/** The things that are counted. */
export const Kind = Schema.Literals([
  "turns",
  "toolCalls",
  "retriesPerTool",
  "fixes",
  "transportRetries",
  "allFailureRounds",
  "duration",
  "tokens"
])

/** The things that are counted. */
export type Kind = typeof Kind.Type

/**
 * The caps of an agent; what is left out is not capped.
 *
 * - `turns`: model calls, all of them: repeated ones, a skill's choice, an output's correction, nested agents'.
 * - `toolCalls`: executions of tools; each attempt that reaches the executor is one.
 * - `retriesPerTool`: attempts of one tool, over the run, beyond the first of each of its calls and not asked for by a fixer.
 * - `fixes`: runs of fixers.
 * - `transportRetries`: HTTP requests of model calls that are sent again by `TransportRetry`.
 * - `allFailureRounds`: rounds in a row in which every call failed; a success starts the count again.
 * - `duration`: wall clock from the start of the agent; at the deadline whatever runs is interrupted.
 * - `tokens`: total tokens as the provider reports them, looked at before each model call.
 * - `thresholds`: shares of a cap, between 0 and 1, at which a `BudgetThreshold` event is sent. Default: `[0.8]`.
 */
export interface Budget {
  readonly turns?: number | undefined
  readonly toolCalls?: number | undefined
  readonly retriesPerTool?: number | undefined
  readonly fixes?: number | undefined
  readonly transportRetries?: number | undefined
  readonly allFailureRounds?: number | undefined
  readonly duration?: Duration.Input | undefined
  readonly tokens?: number | undefined
  readonly thresholds?: ReadonlyArray<number> | undefined
}

/** A cap was reached and more was asked for. `used` and `limit` are counts, or milliseconds for `duration`. */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>()("BudgetExceeded", {
  reason: Kind,
  /** The agent whose cap it is. */
  agent: Schema.String,
  limit: Schema.Finite,
  used: Schema.Finite,
  /** The tool, for `retriesPerTool`. */
  tool: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const of = this.tool === undefined ? "" : ` of tool "${this.tool}"`
    const unit = this.reason === "duration" ? " ms" : ""
    return `Budget of agent "${this.agent}" exceeded: ${this.reason}${of}, limit ${this.limit}${unit}, used ${this.used}${unit}`
  }
}

/** More of the caps that are named; what {@link extend} makes. */
export type Extension = Partial<Record<Kind, number>>

/**
 * Adds to caps. The answer of an agent's `onBudgetExceeded` that lets a run go on; answering nothing lets it end.
 *
 * **Example** (Five more turns, once)
 *
 * ```ts
 * import { Budget } from "@recourse/core"
 *
 * Budget.extend({ turns: 5, duration: "30 seconds" }) // => { turns: 5, duration: 30000 }
 * ```
 */
export const extend = (more: Omit<Budget, "thresholds">): Extension => {
  const { duration, ...counts } = more
  const extension: Extension = { ...(counts as Extension) }
  if (duration !== undefined) extension.duration = Duration.toMillis(duration)
  return extension
}
