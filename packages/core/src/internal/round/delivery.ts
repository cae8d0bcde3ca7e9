/**
 * The last step of a call: the one place that every result passes before anything sees it, be it the model's next
 * request, the user, an event, a span, or the history. Output guard, then redaction, then quarantine. What the program
 * itself says of a result (the mark of a degraded one, that a task goes on) stands beside what the tool said.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { redacted } from "../projection/audiences.ts"
import { userTextsOf } from "../projection/audiences.ts"
import type { UserTexts } from "../projection/failures.ts"
import * as Failures from "../projection/failures.ts"
import { type Guard, OutputGuard, type UnsafeOutput } from "../../OutputGuard.ts"
import { type Envelope, notice } from "../../Quarantine.ts"
import * as Redaction from "../../Redaction.ts"
import { CaptureContent } from "../../Telemetry.ts"
import type { ToolInfo } from "../call/record.ts"
import { withMark } from "../projection/degraded.ts"
import type { Run as FullRun } from "../run/run.ts"
import { randomId } from "../foundation/digest.ts"
import type { CallResult } from "../run/callResult.ts"

/** What a delivery has to know of a run. */
export type Run = Pick<FullRun, "id">

const blocked = (
  run: Run,
  result: CallResult,
  { category }: UnsafeOutput,
  user: UserTexts
): Effect.Effect<CallResult> =>
  Effect.map(randomId, (referenceId) => ({
    call: result.call,
    isFailure: true,
    encoded: Failures.blocked(referenceId, run.id, user),
    modelOutput: undefined,
    repaired: result.repaired,
    verdict: { decision: "blocked", referenceId, by: category, security: true }
  }))

const wrap = (run: Run, { call, encoded }: CallResult): Envelope => ({
  untrusted: true,
  source: call.name,
  call_id: call.id,
  trace_id: run.id,
  notice,
  content: encoded
})

const textOnly = (redactor: Redaction.Redactor, part: Prompt.ToolModelOutputPart): Prompt.ToolModelOutputPart =>
  part.type === "text" ? Prompt.textPart({ text: redactor.text(part.text) }) : part

const marked = (redactor: Redaction.Redactor, result: CallResult): CallResult => {
  if (result.degraded === undefined) return result
  const degraded = { ...result.degraded, source: redactor.text(result.degraded.source) }
  return { ...result, degraded, ...withMark(degraded, result.encoded, result.modelOutput) }
}

const success = (
  run: Run,
  info: ToolInfo,
  result: CallResult,
  redactor: Redaction.Redactor
): CallResult => {
  const shown: CallResult = redactor.results
    ? {
      ...result,
      encoded: Redaction.json(redactor, result.encoded),
      modelOutput: result.modelOutput?.map((part) => textOnly(redactor, part))
    }
    : result
  if (!info.untrusted) return marked(redactor, shown)
  // Of a task that goes on the tool has said the id only; the rest is what the model is to follow.
  if (shown.pendingOf !== undefined) {
    return { ...shown, taints: info.name, encoded: { ...shown.encoded as object, untrusted: info.name } }
  }
  return marked(redactor, {
    ...shown,
    taints: info.name,
    encoded: wrap(run, shown),
    modelOutput: shown.modelOutput === undefined
      ? undefined
      : [Prompt.textPart({ text: `${notice} Source: ${info.name}.` }), ...shown.modelOutput]
  })
}

/** Whether the text of a failure may be what an untrusted tool said, and not one of the fixed sentences. */
const isFromOutside = (info: ToolInfo | undefined, failure: ToolFailure): boolean =>
  info?.untrusted === true && failure.issues === undefined && !Failures.isFixed(failure)

const failure = (
  result: CallResult,
  fromOutside: string | undefined,
  redactor: Redaction.Redactor,
  user: UserTexts
): CallResult => {
  const encoded = redacted(redactor, result.encoded as ToolFailure, user)
  return fromOutside === undefined
    ? { ...result, encoded }
    : { ...result, taints: fromOutside, encoded: { ...encoded, untrusted: fromOutside } }
}

/** What of a result is for the guard: what a tool or somebody behind it said, and nothing of ours. */
const ofTool = (info: ToolInfo, result: CallResult): unknown => {
  if (!result.isFailure) return result.encoded
  const said = result.encoded as ToolFailure
  const { failed, message_for_model, succeeded } = said
  if (succeeded !== undefined) return { message_for_model, succeeded, failed }
  return isFromOutside(info, said) ? message_for_model : undefined
}

/** What a run's context says about how results are shown: read once, as it holds for the whole run. */
export interface Presentation {
  readonly redactor: Redaction.Redactor
  readonly guard: Guard | undefined
  readonly user: UserTexts
  /** Whether spans hold arguments and results. */
  readonly capture: boolean
}

export const presentationOf = (context: Context.Context<never>): Presentation => ({
  redactor: Context.get(context, Redaction.Redaction),
  guard: Context.get(context, OutputGuard),
  user: userTextsOf(context),
  capture: Context.get(context, CaptureContent)
})

/** Lets a result through: as it is, wrapped, redacted, or blocked. `info` is left out for what no tool said. */
export const deliver = (
  { guard, redactor, user }: Presentation,
  run: Run,
  info: ToolInfo | undefined,
  result: CallResult
): Effect.Effect<CallResult> => {
  const shown = () => {
    if (result.isFailure) {
      const said = result.encoded as ToolFailure
      return failure(result, isFromOutside(info, said) ? info?.name : undefined, redactor, user)
    }
    return info === undefined ? marked(redactor, result) : success(run, info, result, redactor)
  }
  const content = guard === undefined || info === undefined ? undefined : ofTool(info, result)
  if (guard === undefined || info === undefined || content === undefined) return Effect.succeed(shown())
  const { name: tool, untrusted } = info
  return Effect.matchEffect(
    guard({ tool, callId: result.call.id, trust: untrusted ? "untrusted" : "trusted", content }),
    {
      onFailure: (unsafe) => blocked(run, result, unsafe, user),
      onSuccess: () => Effect.sync(shown)
    }
  )
}
