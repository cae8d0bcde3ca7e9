/** Options of agents for the compensation of a run's writes. */
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import {
  aFunction,
  anArray,
  aTimeLimit,
  checkOptions,
  type Kind,
  listOf,
  oneOf
} from "../../foundation/options/optionCheck.ts"
import type { NotCompensated } from "../../../ToolError.ts"
import type * as Tool from "../../tool/tool.ts"

/**
 * Events after which the writes of a run are compensated:
 *
 * - `"failure"`: the run ends with an error or a defect. A handoff, and a pause that cannot be resumed, are no
 *   failures.
 * - `"interruption"`: the run is cancelled.
 * - `"rejection"`: a person rejects a call. Earlier writes are compensated at any end of the run; the model is
 *   informed.
 *
 * @category models
 * @since 0.2.0
 */
export type CompensateAfter = "failure" | "interruption" | "rejection"

/**
 * Conditions and options of a run's compensation.
 *
 * @category options
 * @since 0.2.0
 */
export interface CompensationOptions<R, TR = R> {
  /** Ends of a run after which its writes are compensated. Default: all three. */
  readonly after?: ReadonlyArray<CompensateAfter> | undefined
  /** Time limit of one compensation whose tool has no `timeout`. Default: 30 seconds. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Tools that only other tools or nested agents call, so that their writes can be compensated if the run continues in
   * another process. The agent's own are known. The agent needs their services, because services of a caller do not
   * outlive its process.
   */
  readonly tools?: ReadonlyArray<Tool.Tool<string, Schema.Top, Schema.Top, unknown, TR>> | undefined
  /** Receives the uncompensated writes, for a person: after a run, and only if there are some. */
  readonly report?: ((left: ReadonlyArray<NotCompensated>) => Effect.Effect<unknown, never, R>) | undefined
}

/**
 * The compensation option of an agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface Compensating<R, TR = R> {
  /**
   * Compensates the writes of a failed run, the newest first, by the `compensate` of their tools, including those of
   * nested agents and of calls made by tools. A write that may not have happened is not compensated. Default: no
   * compensation.
   */
  readonly compensation?: CompensationOptions<R, TR> | undefined
}

/** Resolved compensation options. */
export interface Compensates {
  readonly after: ReadonlySet<CompensateAfter>
  readonly timeout: Duration.Duration
  readonly tools: ReadonlyArray<Tool.Own>
  readonly report: ((left: ReadonlyArray<NotCompensated>) => Effect.Effect<unknown, never, unknown>) | undefined
}

const kinds: Readonly<Record<keyof CompensationOptions<unknown>, Kind>> = {
  after: listOf(oneOf("failure", "interruption", "rejection")),
  timeout: aTimeLimit,
  tools: anArray,
  report: aFunction
}

/** Reads the option. `own` are the tools of the agent. */
export const compensatesOf = (
  agent: string,
  options: CompensationOptions<unknown> | undefined,
  own: ReadonlyArray<Tool.Own>
): Compensates | undefined => {
  if (options === undefined) return undefined
  checkOptions(`Agent "${agent}"`, options, { kinds, otherNames: {} }, "compensation.")
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "30 seconds")
  return {
    after: new Set(options.after ?? ["failure", "interruption", "rejection"]),
    timeout,
    tools: [...own, ...(options.tools ?? []).map((tool) => ({ agent: undefined, tool }))],
    report: options.report as Compensates["report"]
  }
}
