/** Recorder of a run: the answers of its model and its tools, and its events. */
import { Cause, Clock, Context, Effect, Exit, Option, Schema, Stream } from "effect"
import { AiError, LanguageModel, Prompt, Response, Toolkit } from "effect/ai"
import { type Agent, type AgentEvent, type Tool, ToolInterceptor } from "@recourse/core"
import { stored } from "../text/text.ts"
import { Approver, type Decide, run as runToEnd } from "../faults/approver.ts"
import { type Execution, type ModelCall, type Pause, type Recording, version, type Writable } from "./recording.ts"
import { redact, type RedactOptions } from "./redact.ts"
import { requestText } from "./requestText.ts"
import { fieldsOf } from "./storedErrors.ts"

const encodePart = Schema.encodeUnknownSync(Response.Part(Toolkit.empty))
const encodeStreamPart = Schema.encodeUnknownSync(Response.StreamPart(Toolkit.empty))

/** A part as a provider gives it. Calls are recorded with their arguments as the model wrote them. */
const encoded = (streaming: boolean) => (part: Response.AnyPart): unknown =>
  part.type === "tool-call"
    ? { type: part.type, id: part.id, name: part.name, params: part.params, providerExecuted: part.providerExecuted }
    : part.type === "tool-result"
    ? { ...part, result: part.encodedResult }
    : streaming
    ? encodeStreamPart(part)
    : encodePart(part)

/** A part as JSON, its keys in the order in which the model wrote them. */
const inOrder = (part: unknown): unknown => JSON.parse(JSON.stringify(part))

/** The current execution, so that it is known when an agent runs in it. */
const CurrentExecution = Context.Reference<
  { readonly entry: Writable<typeof Execution.Type>; readonly start: number } | undefined
>(
  "@recourse/testing/Replay/CurrentExecution",
  { defaultValue: () => undefined }
)

/** Records that an agent or another tool runs in the current execution; its duration is the time before. */
const markNested = Effect.flatMap(
  CurrentExecution,
  (outer) =>
    outer === undefined || outer.entry.outcome._tag === "Nested"
      ? Effect.void
      : Effect.map(Clock.currentTimeMillis, (now) => {
        outer.entry.outcome = { _tag: "Nested" }
        outer.entry.duration = now - outer.start
      })
)

/** Measures an effect and reports its exit, however it ends. */
const timed = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  ended: (exit: Exit.Exit<A, E>, duration: number) => Effect.Effect<void>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (start) =>
      Effect.onExit(effect, (exit) => Effect.flatMap(Clock.currentTimeMillis, (end) => ended(exit, end - start)))
  )

const failureOf = (cause: Cause.Cause<unknown>): Option.Option<unknown> =>
  Option.fromUndefinedOr(cause.reasons.find(Cause.isFailReason)).pipe(Option.map(({ error }) => error))

// oxlint-disable-next-line max-lines-per-function -- one recorder: its hooks share what has been recorded
const makeRecorder = (
  recording: {
    readonly modelCalls: Array<Writable<typeof ModelCall.Type>>
    readonly executions: Array<Writable<typeof Execution.Type>>
  },
  tools: ReadonlyArray<Tool.Any>
) => {
  const intercept: ToolInterceptor.Interceptor = ({ attempt, callId, tool }, execute) =>
    Effect.suspend(() => {
      const entry: Writable<typeof Execution.Type> = {
        tool,
        callId,
        attempt,
        duration: 0,
        outcome: { _tag: "Unfinished" }
      }
      recording.executions.push(entry)
      const success = tools.find(({ name }) => name === tool)?.success
      const ended = (exit: Exit.Exit<unknown, unknown>, duration: number): Effect.Effect<void> => {
        const isNested = entry.outcome._tag === "Nested"
        if (isNested && Exit.isFailure(exit)) return Effect.void
        if (!isNested) entry.duration = duration
        if (Exit.isFailure(exit)) {
          return Effect.sync(() => {
            const { cause } = exit
            const error = failureOf(cause)
            entry.outcome = Option.isSome(error)
              ? { _tag: "Failed", error: fieldsOf(error.value) }
              : Cause.hasInterrupts(cause)
              ? { _tag: "Unfinished" }
              : { _tag: "Died", defect: Cause.pretty(cause) }
          })
        }
        const raw = Effect.sync(() => {
          if (!isNested) entry.outcome = { _tag: "Value", value: stored(exit.value), encoded: false }
        })
        if (success === undefined) return raw
        // A result that does not fit is recorded as it is, so that it does not fit in the replay either.
        return Effect.matchEffect(
          Schema.encodeUnknownEffect(Schema.toCodecJson(success))(exit.value) as Effect.Effect<
            unknown,
            Schema.SchemaError
          >,
          {
            onFailure: () => raw,
            onSuccess: (value) =>
              Effect.sync(() => {
                entry.outcome = isNested ? { _tag: "Nested", value } : { _tag: "Value", value, encoded: true }
              })
          }
        )
      }
      const execution = Effect.flatMap(Clock.currentTimeMillis, (start) =>
        Effect.provideService(timed(execute, ended), CurrentExecution, { entry, start }))
      return Effect.andThen(markNested, execution)
    })

  const opened = (options: { readonly prompt?: unknown }) =>
    Effect.andThen(
      markNested,
      Effect.sync(() => {
        const entry: Writable<typeof ModelCall.Type> = {
          request: requestText(options.prompt),
          duration: 0,
          outcome: { _tag: "Unfinished" }
        }
        recording.modelCalls.push(entry)
        return entry
      })
    )

  const decorate = (inner: LanguageModel.LanguageModel): LanguageModel.LanguageModel => {
    const answered = (
      options: { readonly prompt?: unknown },
      call: Effect.Effect<LanguageModel.GenerateTextResponse<{}>, AiError.AiError>
    ) =>
      Effect.flatMap(opened(options), (entry) =>
        timed(call, (exit, duration) =>
          Effect.sync(() => {
            entry.duration = duration
            const error = Exit.isFailure(exit) ? failureOf(exit.cause) : Option.none()
            entry.outcome = Exit.isSuccess(exit)
              ? {
                _tag: "Parts",
                parts: (exit.value.content as ReadonlyArray<Response.AnyPart>).map((part) =>
                  inOrder(encoded(false)(part))
                )
              }
              : Option.isSome(error) && AiError.isAiError(error.value)
              ? { _tag: "Failed", error: error.value }
              : { _tag: "Unfinished" }
          })))
    return {
      ...inner,
      generateText: ((options: {}) =>
        answered(
          options,
          inner.generateText(options as never) as never
        )) as unknown as LanguageModel.LanguageModel["generateText"],
      generateObject: ((options: {}) =>
        answered(
          options,
          inner.generateObject(options as never) as never
        )) as unknown as LanguageModel.LanguageModel["generateObject"],
      streamText: ((options: {}) =>
        Stream.unwrap(Effect.gen(function*() {
          const entry = yield* opened(options)
          const start = yield* Clock.currentTimeMillis
          const parts: Array<unknown> = []
          return (inner.streamText(options as never) as Stream.Stream<Response.AnyPart, AiError.AiError>).pipe(
            Stream.map((part) => {
              parts.push(inOrder(encoded(true)(part)))
              return part
            }),
            Stream.onExit((exit) =>
              Effect.map(Clock.currentTimeMillis, (end) => {
                const error = Exit.isFailure(exit) ? failureOf(exit.cause) : Option.none()
                entry.duration = end - start
                entry.outcome = Option.isSome(error) && AiError.isAiError(error.value)
                  ? { _tag: "Parts", parts, error: error.value }
                  : Exit.isSuccess(exit)
                  ? { _tag: "Parts", parts }
                  : { _tag: "Unfinished" }
              })
            )
          )
        }))) as unknown as LanguageModel.LanguageModel["streamText"]
    }
  }
  return { decorate, intercept }
}

/**
 * Options of a recording.
 *
 * @category options
 * @since 0.2.0
 */
export interface RecordOptions {
  /** The agent's tools, and those of the agents in it: results are stored by their schemas. */
  readonly tools: ReadonlyArray<Tool.Any>
  /** True if model calls are streamed. Default: false. */
  readonly streaming?: boolean | undefined
  /**
   * Redaction of the recording, by {@link redact}. `false`: it contains all texts, and executors' errors with all
   * internals. Default: secrets.
   */
  readonly redact?: RedactOptions | false | undefined
  /**
   * Decides about waiting calls: the run continues over its pauses, and the decisions are recorded. Default: a waiting
   * run ends.
   */
  readonly decide?: Decide | undefined
}

/**
 * Runs an agent and records it: its exit, and the recording. The recording contains all texts to and from the model,
 * and tools' answers, without secrets unless `redact` is `false`; store it like transcripts.
 *
 * @category running
 * @since 0.2.0
 */
export const record = <In, Out, E, R>(
  agent: Agent.Agent<In, Out, E, R>,
  input: In,
  options: RecordOptions
): Effect.Effect<
  { readonly exit: Exit.Exit<Out, E>; readonly recording: Recording },
  never,
  R | LanguageModel.LanguageModel
> =>
  Effect.gen(function*() {
    const { streaming = false, tools } = options
    const events: Array<AgentEvent.AgentEvent> = []
    const modelCalls: Array<Writable<typeof ModelCall.Type>> = []
    const executions: Array<Writable<typeof Execution.Type>> = []
    const { decorate, intercept } = makeRecorder({ executions, modelCalls }, tools)
    const model = yield* LanguageModel.LanguageModel
    const outer = yield* ToolInterceptor.ToolInterceptor
    const pauses: Array<typeof Pause.Type> = []
    const mode = {
      streaming,
      sink: {
        emit: (event: AgentEvent.AgentEvent) => {
          // The conversation is in the model's calls.
          const isLast = event._tag === "RunFinished"
          const kept = stored({
            ...event,
            transcript: undefined,
            compacted: undefined,
            replacedInput: undefined
          }) as AgentEvent.AgentEvent
          events.push(isLast ? { ...kept, transcript: Prompt.empty } as AgentEvent.AgentEvent : kept)
          return event._tag === "AgentStarted" || event._tag === "ToolCallStarted" ? markNested : Effect.void
        }
      }
    }
    const { decide } = options
    const running = decide === undefined
      ? agent.runIn(input, mode)
      : Effect.provideService(
        runToEnd(agent, input, {
          ...mode,
          onPause: ({ decisions, waited }) => pauses.push({ decisions, waited })
        }) as Effect.Effect<Out, E, R | Approver>,
        Approver,
        { decide }
      ) as Effect.Effect<Out, E, R>
    const exit = yield* Effect.exit(running).pipe(
      Effect.provideService(LanguageModel.LanguageModel, decorate(model)),
      Effect.provideService(
        ToolInterceptor.ToolInterceptor,
        (execution, execute) => intercept(execution, outer?.(execution, execute) ?? execute)
      )
    )
    const recording: Recording = {
      version,
      agent: agent.name,
      input,
      streaming,
      events,
      modelCalls,
      executions,
      ...(pauses.length === 0 ? undefined : { pauses })
    }
    return {
      exit,
      recording: options.redact === false ? recording : yield* redact(recording, { ...options.redact, tools })
    }
  })
