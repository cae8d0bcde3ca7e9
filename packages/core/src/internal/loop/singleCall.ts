/** Given call: a run without a model, which is given one call and answers with its result. */
import * as Effect from "effect/Effect"
import type * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import type { Succeeded } from "../round/callOutcome.ts"
import type { Envelope } from "../../Quarantine.ts"
import type { CallResult } from "../run/callResult.ts"
import { withUniqueIds } from "../model/responseParts.ts"
import { newRoundContext } from "../round/roundContext.ts"
import { runCalls } from "./answerCalls.ts"
import { Pause } from "./pause.ts"
import type { Conversation } from "./program.ts"

/**
 * A call of a tool that does not come from a model of the agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface GivenCall {
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** The arguments as they came: the text of a JSON object, or the object. Not checked yet. */
  readonly arguments: unknown
  /** @internal Identifies the model's answer that has the call: a call of an equal id in another answer is another call. */
  readonly answer?: unknown
}

/**
 * The result of a given call, in the form for a model.
 *
 * @category models
 * @since 0.2.0
 */
export interface CallAnswer {
  readonly id: string
  readonly name: string
  readonly isFailure: boolean
  /**
   * The model's text: the result as JSON, a `ToolFailure`, an envelope around untrusted text, the beginning of a long
   * result.
   */
  readonly result: unknown
  /** The model's parts instead of `result`, if the tool has a form of its own for it. */
  readonly modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined
  /**
   * The whole result as JSON of the tool's `success` schema, for programs: without an envelope, a mark or a limit.
   * Absent for a failure, and for a pending task.
   */
  readonly structured?: unknown
  /** Source of the result, if not the tool. */
  readonly degraded?: Succeeded<unknown>["degraded"]
  /** True if the result is an answer in place of an unknown outcome: a write of the call may have happened. */
  readonly isInPlaceOfUnknown?: true
  /** The untrusted tools whose words the result may hold. */
  readonly untrusted: ReadonlyArray<string>
}

/** The answer of a run whose one call has ended. */
export const answerOf = ([result]: ReadonlyArray<CallResult>): CallAnswer => {
  const { call: { id, name }, degraded, encoded, isFailure, isInPlaceOfUnknown } = result!
  const { modelOutput, pendingOf, taints = [], whole } = result!
  const marked = whole ?? encoded
  const wrapped = degraded === undefined && isInPlaceOfUnknown !== true
    ? marked
    : (marked as { readonly result: unknown }).result
  return {
    id,
    name,
    isFailure,
    result: encoded,
    modelOutput,
    untrusted: taints,
    ...(degraded === undefined ? undefined : { degraded }),
    ...(isInPlaceOfUnknown === true ? { isInPlaceOfUnknown } : undefined),
    ...(isFailure || pendingOf !== undefined
      ? undefined
      : { structured: taints.length === 0 ? wrapped : (wrapped as Envelope).content })
  }
}

/** Runs a call that was given. */
export const answerCall = (
  state: Conversation,
  { arguments: params, id, name }: GivenCall
): Effect.Effect<Pause | CallAnswer, unknown, unknown> =>
  Effect.suspend(() => {
    const { program: { tools: given }, session, transcript } = state
    const part = Response.makePart("tool-call", { id, name, params, providerExecuted: false })
    const { calls: raws, content } = withUniqueIds([part], session.callIds)
    session.isResumable = true
    const offered = newRoundContext(state, given.byName, given.names)
    const ran = runCalls(state, offered, raws, () => transcript.assistant(content, state.run.reading.taintedBy))
    return Effect.map(ran, (ran) => ran instanceof Pause ? ran : answerOf(ran))
  })
