/** Preliminary results and progress: events of a call while its executor runs. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { Redaction } from "../../Redaction.ts"
import { cutText } from "../foundation/json/jsonShape.ts"
import { isPromiseLike, kindOf } from "../foundation/options/valueKind.ts"
import { CurrentActivity } from "../call/execute/idleTimeout.ts"
import { type Call, ToolCall } from "../call/call.ts"
import type { ToolInfo } from "../call/tool/toolInfo.ts"
import { deliver, presentationOf } from "../result/delivery.ts"
import type { CallResult } from "../run/callResult.ts"
import { CurrentRun, emit, type Run } from "../run/run.ts"
import { type ResultEncoder, resultEncoder } from "./checkResult.ts"
import { subjectOf } from "../call/record/record.ts"

/** Executor of a tool: an Effect of the result, or a Stream whose last element is the result. */
export type Execute = (
  params: never
) => Effect.Effect<unknown, unknown, unknown> | Stream.Stream<unknown, unknown, unknown>

/** A running call's delivery, in the form of its result; `undefined` if it would be blocked. */
const deliveredSoFar = (
  context: Context.Context<never>,
  run: Run,
  info: ToolInfo,
  { arguments: params, record }: Call,
  encoded: unknown
): Effect.Effect<CallResult | undefined> => {
  const call = { id: record.callId, name: info.name, params }
  const result: CallResult = { call, isFailure: false, encoded, modelOutput: undefined, repaired: undefined }
  return Effect.map(
    deliver(presentationOf(context), run, info, result, record.marks.read),
    (delivered) => delivered.isFailure ? undefined : delivered
  )
}

/** Throws a sentence about an executor that returned no Effect. A promise has started its work: its rejection has no other reader. */
const notAnEffect = ({ name }: ToolInfo, value: unknown): never => {
  if (isPromiseLike(value)) value.then(undefined, () => {})
  throw new ConfigurationError({
    subject: `Tool "${name}"`,
    problem: isPromiseLike(value)
      ? "execute returned a promise. It has to return an Effect: wrap the promise in Effect.tryPromise"
      : `execute returned ${kindOf(value)}. It has to return an Effect: wrap a value in Effect.succeed`
  })
}

/** True if a listener receives the events of a call. */
const isHeard = (run: Run | undefined): run is Run => run?.audience !== undefined

/** Emits a preliminary result of the call that the executor runs for, if a listener receives it. */
type Preliminary = (info: ToolInfo, result: unknown) => Effect.Effect<void, never, ToolCall>

const preliminaryOf = (success: Schema.Top): Preliminary => {
  let encoder: ResultEncoder | undefined
  const encode: ResultEncoder = (element) => (encoder ??= resultEncoder(success))(element)
  return (info, result) =>
    Effect.contextWith((context: Context.Context<ToolCall>) => {
      const ambient = context as Context.Context<never>
      const run = Context.get(ambient, CurrentRun)
      if (!isHeard(run)) return Effect.void
      const call = Context.get(context, ToolCall)
      // A result that does not fit is reported as the call's failure, if it is the last.
      return Effect.matchEffect(encode(result) as Effect.Effect<Schema.Json, unknown>, {
        onFailure: () => Effect.void,
        onSuccess: (encoded) =>
          Effect.flatMap(deliveredSoFar(ambient, run, info, call, encoded), (delivered) =>
            delivered === undefined ? Effect.void : emit(run, () => ({
              _tag: "ToolPreliminaryResult",
              ...subjectOf(call.record),
              attempt: call.attempt,
              result: delivered.whole ?? delivered.encoded
            })))
      })
    })
}

/** Emits preliminary results of a tool, for a handler that is given a function for them. */
export const preliminaryResult = (
  success: Schema.Top
): (result: unknown) => Effect.Effect<void, never, ToolCall> => {
  const emitted = preliminaryOf(success)
  return (result) =>
    Effect.flatMap(
      ToolCall,
      ({ record }) => record.attempts.tool === undefined ? Effect.void : emitted(record.attempts.tool, result)
    )
}

/** The result of an executor that returned no Effect: the last element of a Stream. Listeners receive each element. */
export const lastOf = (
  info: ToolInfo,
  success: Schema.Top
): (executed: unknown) => Effect.Effect<unknown, unknown, unknown> => {
  const preliminary = preliminaryOf(success)
  const last = (stream: Stream.Stream<unknown, unknown, unknown>) =>
    Effect.contextWith((context: Context.Context<never>) => {
      const tapped = isHeard(Context.get(context, CurrentRun))
        ? Stream.tap(stream, (element) => preliminary(info, element))
        : stream
      return Effect.map(Stream.runLast(tapped), Option.getOrUndefined)
    })
  return (executed) =>
    Stream.isStream(executed) ? last(executed as Stream.Stream<unknown, unknown, unknown>) : notAnEffect(info, executed)
}

/**
 * Progress of a call.
 *
 * @category models
 * @since 0.2.0
 */
export interface Progress {
  /** The completed amount, in a unit of the tool: it grows. */
  readonly progress: number
  /** The total amount, if it is known. */
  readonly total?: number | undefined
  /** The present work. */
  readonly message?: string | undefined
}

/**
 * Emits the progress of the executor's call, in the event `ToolProgress`. The model does not receive it. The message is
 * redacted, guarded like a result, and cut at 1,000 characters. Without a listener no event is made. The `timeout` of a
 * tool with a `maxTimeout` restarts.
 *
 * **Example** (An import that says how far it is)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent, AgentEvent, Recovery, Tool, ToolCall } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Import = Tool.make("import_orders", {
 *   effects: "idempotent",
 *   execute: () =>
 *     Effect.forEach([1, 2], (page) => ToolCall.progress({ progress: page, total: 2, message: `Page ${page}` }), {
 *       discard: true
 *     })
 * })
 * const agent = Agent.make("importer", { tools: [Import], defaults: { onError: Recovery.standard } })
 * const lines: Array<string> = []
 * const listener = AgentEvent.listen((event) =>
 *   Effect.sync(() => event._tag === "ToolProgress" && lines.push(`${event.progress} of ${event.total}: ${event.message}`))
 * )
 *
 * await Effect.runPromise(
 *   agent.run("Import them").pipe(
 *     Effect.provide(Layer.merge(listener, ScriptedModel.layer([ScriptedModel.call("import_orders", {}), ScriptedModel.text("Done")])))
 *   )
 * ) // => "Done"
 * lines // => ["1 of 2: Page 1", "2 of 2: Page 2"]
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const progress = ({ message, progress, total }: Progress): Effect.Effect<void, never, ToolCall> =>
  Effect.contextWith((context: Context.Context<ToolCall>) => {
    const ambient = context as Context.Context<never>
    const run = Context.get(ambient, CurrentRun)
    const call = Context.get(context, ToolCall)
    const { record } = call
    const info = record.attempts.tool
    Context.get(ambient, CurrentActivity)?.extend()
    if (!isHeard(run) || info === undefined || !Number.isFinite(progress)) return Effect.void
    const emitProgress = (said: CallResult | undefined) =>
      emit(run, () => ({
        _tag: "ToolProgress",
        ...subjectOf(record),
        attempt: call.attempt,
        progress,
        ...(Number.isFinite(total) ? { total: total as number } : undefined),
        ...said === undefined ? undefined : {
          message: messageOf(said),
          ...(said.taints === undefined ? undefined : { untrusted: said.taints.join(", ") })
        }
      }))
    if (message === undefined) return emitProgress(undefined)
    const shown = cutText(Context.get(ambient, Redaction).text(message), longestMessage)
    return Effect.flatMap(deliveredSoFar(ambient, run, info, call, shown), emitProgress)
  })

/** Length limit of a message, in characters. */
const longestMessage = 1_000

/** The message within the envelope of one from outside. */
const messageOf = ({ encoded, taints, whole = encoded }: CallResult): string =>
  String(taints === undefined ? whole : (whole as { readonly content: unknown }).content)
