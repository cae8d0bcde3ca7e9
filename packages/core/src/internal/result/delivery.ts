/**
 * Delivery: the last step of a call, which every result passes before the model's next request, the user, an event, a
 * span or the history. Output guard, then redaction, then quarantine. The program's own words about a result (the mark
 * of a degraded one, the state of a task) are in fields of their own.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { redacted, userTextsOf } from "../projection/audiences.ts"
import type { UserTexts } from "../projection/failures.ts"
import * as Failures from "../projection/failures.ts"
import { type Guard, type Output, OutputGuard, type UnsafeOutput } from "../../OutputGuard.ts"
import { type Envelope, notice } from "../../Quarantine.ts"
import * as Redaction from "../../Redaction.ts"
import { CaptureContent } from "../../Telemetry.ts"
import type { ToolInfo } from "../call/tool/toolInfo.ts"
import { isLongerThan } from "../foundation/json/jsonShape.ts"
import { defaultResultLimit, limited } from "../projection/longResult.ts"
import { withMarks } from "../projection/degradedMark.ts"
import type { Run as FullRun } from "../run/run.ts"
import { randomId } from "../foundation/digest.ts"
import type { CallResult } from "../run/callResult.ts"

/** Facts of a run for a delivery. */
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

const wrap = (run: Run, { call, encoded }: CallResult, sources: ReadonlyArray<string>): Envelope => ({
  untrusted: true,
  source: sources.join(", "),
  call_id: call.id,
  trace_id: run.id,
  notice,
  content: encoded
})

/** Parts between two lines that their author cannot have known. */
const enclosed = (
  parts: ReadonlyArray<Prompt.ToolModelOutputPart>,
  sources: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Prompt.ToolModelOutputPart>> =>
  Effect.map(randomId, (id) => [
    Prompt.textPart({ text: `${notice} Source: ${sources.join(", ")}. The content begins here: ${id}` }),
    ...parts,
    Prompt.textPart({ text: `The content from outside ends here: ${id}` })
  ])

const textOnly = (redactor: Redaction.Redactor, part: Prompt.ToolModelOutputPart): Prompt.ToolModelOutputPart =>
  part.type === "text" ? Prompt.textPart({ text: redactor.text(part.text) }) : part

const marked = (redactor: Redaction.Redactor, result: CallResult): CallResult => {
  if (result.degraded === undefined && result.isInPlaceOfUnknown !== true) return result
  const degraded = result.degraded && { ...result.degraded, source: redactor.text(result.degraded.source) }
  const marks = {
    ...(result.isInPlaceOfUnknown === true ? { outcome_unknown: Failures.unknownOutcomeText } : undefined),
    ...(degraded === undefined ? undefined : { degraded })
  }
  return { ...result, degraded, ...withMarks(marks, result.encoded, result.modelOutput) }
}

const success = (
  run: Run,
  sources: ReadonlyArray<string>,
  result: CallResult,
  limit: number,
  redactor: Redaction.Redactor
): Effect.Effect<CallResult> => {
  const whole: CallResult = redactor.results
    ? {
      ...result,
      encoded: Redaction.json(redactor, result.encoded),
      modelOutput: result.modelOutput?.map((part) => textOnly(redactor, part))
    }
    : result
  const isShort = whole.modelOutput === undefined && !isLongerThan(whole.encoded, limit)
  const shown = isShort || whole.pendingOf !== undefined ? whole : limited(whole, limit)
  const presented = presentedAs(run, sources, shown, redactor)
  return shown.encoded === whole.encoded ? presented : Effect.zipWith(
    presented,
    presentedAs(run, sources, { ...whole, modelOutput: undefined }, redactor),
    (result, { encoded }) => ({ ...result, whole: encoded })
  )
}

/** A result with the program's marks: its source, its age, its pending task. */
const presentedAs = (
  run: Run,
  sources: ReadonlyArray<string>,
  shown: CallResult,
  redactor: Redaction.Redactor
): Effect.Effect<CallResult> => {
  if (sources.length === 0) return Effect.succeed(marked(redactor, shown))
  // For a pending task only the id is the tool's text; the rest is advice for the model.
  if (shown.pendingOf !== undefined) {
    const encoded = { ...shown.encoded as object, untrusted: sources.join(", ") }
    return Effect.succeed({ ...shown, taints: sources, encoded })
  }
  const wrapped = { ...shown, taints: sources, encoded: wrap(run, shown, sources) }
  return shown.modelOutput === undefined
    ? Effect.succeed(marked(redactor, wrapped))
    : Effect.map(enclosed(shown.modelOutput, sources), (modelOutput) => marked(redactor, { ...wrapped, modelOutput }))
}

const failure = (
  result: CallResult,
  sources: ReadonlyArray<string>,
  redactor: Redaction.Redactor,
  user: UserTexts
): CallResult => {
  const said = result.encoded as ToolFailure
  const encoded = redacted(redactor, said, user)
  return sources.length === 0 || Failures.isOwn(said, user)
    ? { ...result, encoded }
    : { ...result, taints: sources, encoded: { ...encoded, untrusted: sources.join(", ") } }
}

/** The part of a result that the guard sees: all that the model is given of the words of a tool or of a source behind it. */
const ofTool = ({ encoded, isFailure, modelOutput }: CallResult, user: UserTexts): unknown =>
  isFailure
    ? Failures.isOwn(encoded as ToolFailure, user) ? undefined : encoded
    : modelOutput === undefined
    ? encoded
    : { result: encoded, modelOutput }

/** Options of a run's context for the presentation of results: read once for the whole run. */
export interface Presentation {
  readonly redactor: Redaction.Redactor
  readonly guard: Guard | undefined
  readonly user: UserTexts
  /** True if spans contain arguments and results. */
  readonly capture: boolean
  /** Number of characters of a result that the model reads, unless its tool sets another. */
  readonly resultLimit: number
}

export const presentationOf = (
  context: Context.Context<never>,
  resultLimit: number = defaultResultLimit
): Presentation => ({
  resultLimit,
  redactor: Context.get(context, Redaction.Redaction),
  guard: Context.get(context, OutputGuard),
  user: userTextsOf(context),
  capture: Context.get(context, CaptureContent)
})

/** Whose words a result may hold: the tool's own, if it is untrusted, and those of the tools that were read within the call. */
const sourcesOf = (info: ToolInfo | undefined, read: ReadonlyArray<string>): ReadonlyArray<string> =>
  info?.results.areUntrusted === true && !read.includes(info.name) ? [info.name, ...read] : read

const outputOf = (info: ToolInfo, { call }: CallResult, sources: ReadonlyArray<string>, content: unknown): Output => ({
  tool: info.name,
  callId: call.id,
  trust: sources.length > 0 ? "untrusted" : "trusted",
  content
})

/**
 * Delivers a result: unchanged, wrapped, redacted, or blocked. `info` is absent if no tool wrote it; `read` are the
 * untrusted tools that were read within the call.
 */
export const deliver = (
  { guard, redactor, resultLimit, user }: Presentation,
  run: Run,
  info: ToolInfo | undefined,
  result: CallResult,
  read: ReadonlyArray<string> = []
): Effect.Effect<CallResult> => {
  const sources = sourcesOf(info, read)
  const shown = () =>
    result.isFailure
      ? Effect.succeed(failure(result, sources, redactor, user))
      : success(run, sources, result, info?.results.limit ?? resultLimit, redactor)
  if (guard === undefined || info === undefined) return shown()
  const content = ofTool(result, user)
  const looked = content === undefined ? Effect.void : guard(outputOf(info, result, sources, content))
  return Effect.matchEffect(looked, { onFailure: (unsafe) => blocked(run, result, unsafe, user), onSuccess: shown })
}

/**
 * Delivers the result of a call that has ended the run. The run ends with its error, and a user reads its words at each
 * outer level. The guard checks them as well, if the result has fewer words, and blocked words reach no reader.
 */
export const deliverLast = (
  presentation: Presentation,
  run: Run,
  info: ToolInfo | undefined,
  result: CallResult,
  error: unknown,
  read: ReadonlyArray<string> = []
): Effect.Effect<CallResult> => {
  const delivered = deliver(presentation, run, info, result, read)
  const { guard, user } = presentation
  if (guard === undefined || info === undefined || error === undefined) return delivered
  const said = Failures.toolFailure(error, run.id, user)
  const isLookedAt = said.message_for_model === (result.encoded as ToolFailure).message_for_model &&
    said.message_for_user === (result.encoded as ToolFailure).message_for_user
  const block = () => Failures.blockWords(error)
  return Effect.flatMap(delivered, (shown) => {
    if (shown.verdict?.decision === "blocked") block()
    return isLookedAt || Failures.isOwn(said, user) || shown.verdict?.decision === "blocked"
      ? Effect.succeed(shown)
      : Effect.match(guard(outputOf(info, result, sourcesOf(info, read), said)), {
        onFailure: () => (block(), shown),
        onSuccess: () => shown
      })
  })
}
