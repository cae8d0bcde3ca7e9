/**
 * The last step of a call: the one place that every result passes before anything sees it, be it the model's next
 * request, the user, an event, a span, or the history. Output guard, then redaction, then quarantine. What the program
 * itself says of a result (the mark of a degraded one, that a task goes on) stands beside what the tool said.
 */
import { Context, Effect, Option } from "effect"
import { Prompt } from "effect/ai"
import * as ErrorProjection from "../ErrorProjection.ts"
import { type Output, OutputGuard, type UnsafeOutput } from "../OutputGuard.ts"
import { type Envelope, notice } from "../Quarantine.ts"
import * as Redaction from "../Redaction.ts"
import type { ToolInfo } from "./callRecord.ts"
import { withMark } from "./marks.ts"
import type { Run as FullRun } from "./run.ts"
import { randomId } from "./sha256.ts"
import type { CallResult } from "./transcript.ts"

/** What a delivery has to know of a run. */
export type Run = Pick<FullRun, "id">

const inspected = (output: Output): Effect.Effect<Option.Option<UnsafeOutput>> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const guard = Context.get(context, OutputGuard)
    return guard === undefined
      ? Effect.succeedNone
      : Effect.matchEffect(guard(output), { onFailure: Effect.succeedSome, onSuccess: () => Effect.succeedNone })
  })

const blocked = (
  run: Run,
  result: CallResult,
  { category }: UnsafeOutput,
  user: ErrorProjection.UserTexts
): Effect.Effect<CallResult> =>
  Effect.map(randomId, (referenceId) => ({
    call: result.call,
    isFailure: true,
    encoded: ErrorProjection.blocked(referenceId, run.id, user),
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
const isFromOutside = (info: ToolInfo | undefined, failure: ErrorProjection.ToolFailure): boolean =>
  info?.untrusted === true && failure.issues === undefined && !ErrorProjection.isFixed(failure)

/** Lets a result through: as it is, wrapped, redacted, or blocked. `info` is left out for what no tool said. */
export const deliver = (run: Run, info: ToolInfo | undefined, result: CallResult): Effect.Effect<CallResult> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const redactor = Context.get(context, Redaction.Redaction)
    return Effect.flatMap(ErrorProjection.userTexts, (user) => {
      if (!result.isFailure) {
        const guarded = Context.get(context, OutputGuard) !== undefined
        if (info === undefined || !(guarded || info.untrusted || redactor.results)) {
          return Effect.succeed(marked(redactor, result))
        }
        const output: Output = {
          tool: info.name,
          callId: result.call.id,
          trust: info.untrusted ? "untrusted" : "trusted",
          content: result.encoded
        }
        return Effect.flatMap(
          inspected(output),
          Option.match({
            onSome: (unsafe) => blocked(run, result, unsafe, user),
            onNone: () => Effect.succeed(success(run, info, result, redactor))
          })
        )
      }
      const failure = result.encoded as ErrorProjection.ToolFailure
      const shown = { ...result, encoded: ErrorProjection.redacted(redactor, failure) }
      const fromOutside = isFromOutside(info, failure)
      const { failed, message_for_model, succeeded } = failure
      if (info === undefined || !(fromOutside || succeeded !== undefined)) return Effect.succeed(shown)
      return Effect.flatMap(
        inspected({
          tool: info.name,
          callId: result.call.id,
          trust: info.untrusted ? "untrusted" : "trusted",
          content: succeeded === undefined ? message_for_model : { message_for_model, succeeded, failed }
        }),
        Option.match({
          onSome: (unsafe) => blocked(run, result, unsafe, user),
          onNone: () =>
            Effect.succeed(
              fromOutside
                ? { ...shown, taints: info.name, encoded: { ...shown.encoded, untrusted: info.name } }
                : shown
            )
        })
      )
    })
  })
