/** Options of agents that say when what a run has done is undone. */
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import type { NotCompensated } from "../../../ToolError.ts"
import type * as Tool from "../../tool/tool.ts"

/**
 * After what the writes of a run are undone:
 *
 * - `"failure"`: the run ends with an error or a defect. A handoff, and a pause that nobody can go on with, are no failures.
 * - `"interruption"`: the run is cancelled.
 * - `"rejection"`: a person refuses a call. What was done before it is undone when the run ends, however it ends; the model is told so.
 */
export type CompensateAfter = "failure" | "interruption" | "rejection"

/** When and how the writes of a run are undone. */
export interface CompensationOptions<R, TR = R> {
  /** Default: all three. */
  readonly after?: ReadonlyArray<CompensateAfter> | undefined
  /** How long one compensation may take whose tool has no `timeout`. Default: 30 seconds. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Tools that only other tools or nested agents call: so that what they did can be undone where the run goes on in another process. The
   * agent's own are known. What they need is needed by the agent, as nothing that a caller has provided outlives its process.
   */
  readonly tools?: ReadonlyArray<Tool.Needing<TR>> | undefined
  /** Is given the writes that are not undone, for a person: after a run, and only if there are some. */
  readonly report?: ((left: ReadonlyArray<NotCompensated>) => Effect.Effect<unknown, never, R>) | undefined
}

/** The option of an agent that undoes. */
export interface Compensating<R, TR = R> {
  /**
   * Undoes the writes of a run that ends badly, the newest first, by the `compensate` of their tools: those of nested agents and of calls
   * that tools make as well. Nothing is undone that may not have happened. Left out: nothing is.
   */
  readonly compensation?: CompensationOptions<R, TR> | undefined
}

/** When and how, as it is used. */
export interface Compensates {
  readonly after: ReadonlySet<CompensateAfter>
  readonly timeout: Duration.Duration
  readonly tools: ReadonlyArray<Tool.Own>
  readonly report: ((left: ReadonlyArray<NotCompensated>) => Effect.Effect<unknown, never, unknown>) | undefined
}

/** Reads the option. `own` are the tools of the agent. */
export const compensatesOf = (
  agent: string,
  options: CompensationOptions<unknown> | undefined,
  own: ReadonlyArray<Tool.Own>
): Compensates | undefined => {
  if (options === undefined) return undefined
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "30 seconds")
  if (!(Duration.toMillis(timeout) > 0)) {
    throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: "compensation.timeout must be longer than 0" })
  }
  return {
    after: new Set(options.after ?? ["failure", "interruption", "rejection"]),
    timeout,
    tools: [...own, ...(options.tools ?? []).map((tool) => ({ agent: undefined, tool }))],
    report: options.report as Compensates["report"]
  }
}
