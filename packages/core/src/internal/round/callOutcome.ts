/** Outcomes of calls that a program makes without an agent: tagged values, each with the text for a model. */
import * as Data from "effect/Data"
import type * as Prompt from "effect/ai/Prompt"
import type { PendingCall } from "../approval/snapshot.ts"
import type { DegradedMark } from "../projection/degradedMark.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import type { CallResult, RequestedCall, Waiting } from "../run/callResult.ts"

/**
 * Fields of each outcome of a call.
 *
 * @category models
 * @since 0.2.0
 */
export interface OutcomeFields {
  readonly callId: string
  readonly tool: string
  /** The model's result as JSON: the tool's result, a `ToolFailure`, an envelope around untrusted text. */
  readonly result: unknown
  /** {@link result} as text: JSON, unless it is a text. */
  readonly text: string
  /** The untrusted tools whose words the result may hold. */
  readonly untrusted: ReadonlyArray<string>
}

/**
 * The call has a result.
 *
 * @category models
 * @since 0.2.0
 */
export class Succeeded<out A> extends Data.TaggedClass("Success")<
  OutcomeFields & {
    /** The tool's result, decoded: for the program, without an envelope, a redaction or a limit. */
    readonly value: unknown
    /** The model's parts in place of `result`, if the tool has a form of its own for it. */
    readonly modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined
    /** Source of the result, if not the tool. */
    readonly degraded: DegradedMark | undefined
  }
> {
  declare readonly value: A
}

/**
 * The call has failed, and its failure is for the model: escalated, denied by a policy, interrupted.
 *
 * @category models
 * @since 0.2.0
 */
export class Failed extends Data.TaggedClass("Failure")<OutcomeFields & { readonly failure: ToolFailure }> {}

/**
 * The call has started a task that continues: the model reads how to query it.
 *
 * @category models
 * @since 0.2.0
 */
export class Started extends Data.TaggedClass("Task")<OutcomeFields> {}

/**
 * The call waits for the decision of a person: it was not executed.
 *
 * @category models
 * @since 0.2.0
 */
export class Waits extends Data.TaggedClass("ApprovalRequired")<
  OutcomeFields & { readonly pending: ReadonlyArray<PendingCall>; readonly failure: ToolFailure }
> {}

/**
 * Outcome of a call.
 *
 * @category models
 * @since 0.2.0
 */
export type Outcome<A> = Succeeded<A> | Failed | Started | Waits

/** A text without half of a surrogate pair: servers of models refuse one in each later request of a conversation. */
const wellFormed = <A>(result: A): A => typeof result === "string" ? result.toWellFormed() as A & string : result

const presentOf = (result: unknown) => ({
  result: wellFormed(result),
  text: typeof result === "string" ? wellFormed(result) : JSON.stringify(result) ?? ""
})

const wellFormedPart = (part: Prompt.ToolModelOutputPart): Prompt.ToolModelOutputPart =>
  part.type === "text" && !part.text.isWellFormed() ? { ...part, text: wellFormed(part.text) } : part

/** Returns the outcome of a call with a result. */
export const outcomeOfResult = (
  { call, degraded, encoded, isFailure, modelOutput, pendingOf, taints = [], value }: CallResult
): Outcome<unknown> => {
  const common = { callId: call.id, tool: call.name, ...presentOf(encoded), untrusted: taints }
  return isFailure
    ? new Failed({ ...common, failure: encoded as ToolFailure })
    : pendingOf !== undefined
    ? new Started(common)
    : new Succeeded({ ...common, value, modelOutput: modelOutput?.map(wellFormedPart), degraded })
}

/** Returns the outcome of a call that ended without a result of its own, such as an interrupted one. */
export const outcomeOfFailure = ({ id: callId, name: tool }: RequestedCall, failure: unknown): Failed =>
  new Failed({ callId, tool, ...presentOf(failure), untrusted: [], failure: failure as ToolFailure })

/** Returns the outcome of a call that waits. `failure`: the text for the model meanwhile. */
export const outcomeOfWait = (
  { id: callId, name: tool }: RequestedCall,
  { pending }: Waiting,
  failure: unknown
): Waits => new Waits({ callId, tool, ...presentOf(failure), untrusted: [], pending, failure: failure as ToolFailure })
