/** Repeated runs of an agent within a run: one that has written ends the next equal one, so that its writes are not done a second time. */
import * as Context from "effect/Context"
import type * as Exit from "effect/Exit"
import { ToolCall } from "../../call/call.ts"
import { forgetLedgerAnswers } from "../../run/writes/ledgerAnswers.ts"
import type { NestedRun, Run } from "../../run/run.ts"
import type { Mode } from "../runMode.ts"

/** A nested run before it starts. */
interface Starting {
  readonly declaration: { readonly name: string }
  readonly mode: Mode
  readonly input: unknown
  readonly context: Context.Context<never>
}

/** A nested run, by its agent, its call and its input; `undefined` if its path already identifies it. */
const nestedRunOf = (
  { context, declaration: { name: agent }, input, mode: { over, resumed, step } }: Starting
): NestedRun | undefined =>
  over !== undefined || resumed !== undefined || step !== undefined
    ? undefined
    : { agent, call: Context.getOrUndefined(context, ToolCall)?.record, input }

/**
 * Returns the end of an equal run of the agent that has written and did not succeed. A program that runs the agent again, such as
 * `Effect.retry(agent.run)`, gets that end.
 */
export const endOfEqualRun = (starting: Starting, parent: Run): Exit.Exit<never, unknown> | undefined => {
  const nested = nestedRunOf(starting)
  return nested && parent.nested.failureOf(nested)
}

/** Notes the end of a nested run that has written and did not succeed. */
export const noteFailedRun = (
  ended: Starting & { readonly run: Run },
  exit: Exit.Exit<never, unknown>
): void => {
  const { parent, writes: { started: startedWrites } } = ended.run
  forgetLedgerAnswers(ended.run)
  if (parent === undefined || !startedWrites.some((write) => write.happened !== "no" && !write.isCompensated)) return
  const nested = nestedRunOf(ended)
  if (nested !== undefined) parent.nested.failed(nested, exit)
}
