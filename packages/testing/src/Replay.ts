/**
 * Time travel: a run is recorded with what its model and its tools answered, stored as JSON, and run again against those
 * answers. Where the program has changed, the first difference shows.
 *
 * Tools are not executed in a replay, and time is virtual. Ids of runs, times and delays are not compared.
 */
import { Cause, Clock, Context, Effect, Exit, Option, Predicate, Schema, Stream } from "effect"
import { AiError, LanguageModel, Response, Toolkit } from "effect/ai"
import { type Agent, AgentEvent, type Tool, ToolError, ToolInterceptor } from "@recourse/core"
import { InjectedFailure } from "./Faults.ts"
import { stored, textOf } from "./internal/text.ts"
import * as VirtualTime from "./VirtualTime.ts"

/** What a model call came to. */
const ModelOutcome = Schema.Union([
  Schema.TaggedStruct("Parts", { parts: Schema.Array(Schema.Unknown), error: Schema.optionalKey(AiError.AiError) }),
  Schema.TaggedStruct("Failed", { error: AiError.AiError }),
  Schema.TaggedStruct("Unfinished", {})
])

/** What an execution of a tool came to. */
const ToolOutcome = Schema.Union([
  Schema.TaggedStruct("Value", { value: Schema.Unknown, encoded: Schema.Boolean }),
  Schema.TaggedStruct("Failed", { error: Schema.Unknown }),
  Schema.TaggedStruct("Died", { defect: Schema.String }),
  Schema.TaggedStruct("Unfinished", {}),
  /** Another agent ran in it: it is run again, against what its own model and tools answered. */
  Schema.TaggedStruct("Nested", {})
])

/** A call of the model: what it was sent, when and how long it took in milliseconds, and what it answered. */
export const ModelCall = Schema.Struct({
  /** The messages, as text. */
  request: Schema.String,
  duration: Schema.Number,
  outcome: ModelOutcome
})

/** An execution of a tool. */
export const Execution = Schema.Struct({
  tool: Schema.String,
  callId: Schema.String,
  attempt: Schema.Int,
  duration: Schema.Number,
  outcome: ToolOutcome
})

/** A recorded run. */
export const Recording = Schema.Struct({
  agent: Schema.String,
  input: Schema.Unknown,
  streaming: Schema.Boolean,
  events: Schema.Array(AgentEvent.AgentEvent),
  modelCalls: Schema.Array(ModelCall),
  executions: Schema.Array(Execution)
})

/** A recorded run. */
export type Recording = typeof Recording.Type

const Json = Schema.fromJsonString(Schema.toCodecJson(Recording))

/** A recording as JSON. */
export const stringify: (recording: Recording) => Effect.Effect<string, Schema.SchemaError> = Schema.encodeEffect(Json)

/** A recording from JSON. */
export const parse: (json: string) => Effect.Effect<Recording, Schema.SchemaError> = Schema.decodeEffect(Json)

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

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** The execution that is going on, so that it is known when an agent runs in it. */
const CurrentExecution = Context.Reference<
  { readonly entry: Writable<typeof Execution.Type>; readonly start: number } | undefined
>(
  "@recourse/testing/Replay/CurrentExecution",
  { defaultValue: () => undefined }
)

/** Notes that an agent runs in the execution that is going on; its duration is what went before. */
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

/** Measures an effect and says what came of it, however it ends. */
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

/** What an executor says by the library's own errors, which no program's constructors make. */
const Said = Schema.toCodecJson(Schema.Union([
  ToolError.Escalation,
  ToolError.Escalated,
  ToolError.AgentException,
  ToolError.PartialSuccess,
  ToolError.Pending
]))

const encodeSaid = Schema.encodeUnknownOption(Said)
const decodeSaid = Schema.decodeUnknownOption(Said)

/** What is stored of an executor's error: its fields. */
const fieldsOf = (error: unknown): unknown =>
  Option.getOrElse(encodeSaid(error), () =>
    stored(
      Predicate.isObject(error)
        ? { ...error, ...(Predicate.hasProperty(error, "_tag") ? { _tag: error._tag } : undefined) }
        : error
    ))

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
        if (entry.outcome._tag === "Nested") return Effect.void
        entry.duration = duration
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
          entry.outcome = { _tag: "Value", value: stored(exit.value), encoded: false }
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
                entry.outcome = { _tag: "Value", value, encoded: true }
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
                  stored(encoded(false)(part))
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
              parts.push(stored(encoded(true)(part)))
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

const messagesOf = (prompt: unknown): unknown =>
  Predicate.hasProperty(prompt, "content") && Array.isArray(prompt.content)
    ? prompt.content.map(({ content, role }: { readonly role: string; readonly content: unknown }) => ({
      role,
      content
    }))
    : prompt

/** What is the run's own in a text: its id. */
const neutral = (text: string): string => text.replaceAll(/run_[0-9a-z]{1,16}/g, "run")

const requestText = (prompt: unknown): string => neutral(textOf(messagesOf(prompt)))

/** How a run is recorded. */
export interface RecordOptions {
  /** The agent's tools, and those of the agents in it: results are stored by their schemas. */
  readonly tools: ReadonlyArray<Tool.Any>
  /** Whether model calls are streamed. Default: no. */
  readonly streaming?: boolean | undefined
}

/**
 * Runs an agent and records it: how it ended, and the recording. The recording holds everything that was said; store it
 * where transcripts may be stored.
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
    const exit = yield* Effect.exit(agent.execute(input, {
      streaming,
      listener: (event) => {
        events.push(stored(event) as AgentEvent.AgentEvent)
        return event._tag === "AgentStarted" ? markNested : Effect.void
      }
    })).pipe(
      Effect.provideService(LanguageModel.LanguageModel, decorate(model)),
      Effect.provideService(
        ToolInterceptor.ToolInterceptor,
        (execution, execute) => intercept(execution, outer?.(execution, execute) ?? execute)
      )
    )
    return { exit, recording: { agent: agent.name, input, streaming, events, modelCalls, executions } }
  })

/** Where a replay goes another way than the recording. */
export interface Difference {
  /** An event, or what the model was sent. */
  readonly kind: "event" | "request"
  /** Its place among those, from 0. */
  readonly index: number
  /** What was recorded there; nothing if the recording had ended. */
  readonly recorded: unknown
  /** What came in the replay; nothing if the replay had ended. */
  readonly replayed: unknown
}

/** What came of a replay. */
export interface Replayed<out Out, out E> {
  readonly exit: Exit.Exit<Out, E>
  readonly difference: Option.Option<Difference>
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
}

/** The replay asked for an answer that the recording does not hold; the difference says where it left it. */
class NotRecorded extends Schema.TaggedError<NotRecorded>()("NotRecorded", { what: Schema.String }) {
  override get message(): string {
    return `Not in the recording: ${this.what}`
  }
}

/** A request that is not in the recording, and the recorded call that was to be next. */
interface Unasked {
  readonly request: string
  readonly index: number | undefined
}

const player = (recording: Recording, options: ReplayOptions) => {
  const used = new Set<number>()
  const unasked: Array<Unasked> = []

  const intercept: ToolInterceptor.Interceptor = ({ attempt, callId, tool }, execute) =>
    Effect.suspend(() => {
      const index = recording.executions.findIndex((entry, index) =>
        !used.has(index) && entry.tool === tool && entry.callId === callId && entry.attempt === attempt
      )
      const entry = recording.executions[index]
      if (entry === undefined) return Effect.die(new NotRecorded({ what: `${tool} ${callId}, attempt ${attempt}` }))
      used.add(index)
      const { duration, outcome } = entry
      const success = options.tools.find(({ name }) => name === tool)?.success
      switch (outcome._tag) {
        case "Nested":
          return Effect.delay(execute, duration)
        case "Unfinished":
          return Effect.never
        case "Died":
          return Effect.delay(Effect.die(new Error(outcome.defect)), duration)
        case "Failed":
          return Effect.delay(Effect.fail(revive(outcome.error, options)), duration)
        case "Value":
          return Effect.delay(
            outcome.encoded && success !== undefined
              ? Effect.orDie(Schema.decodeUnknownEffect(Schema.toCodecJson(success))(outcome.value))
              : Effect.succeed(outcome.value),
            duration
          )
      }
    })

  // Calls that run at the same time may come in another order, so what was asked is looked for first.
  const left = recording.modelCalls.map((_, index) => index)
  const next = (prompt: unknown) =>
    Effect.suspend(() => {
      const request = requestText(prompt)
      const same = left.findIndex((index) => recording.modelCalls[index]!.request === request)
      const [index] = left.splice(same < 0 ? 0 : same, 1)
      if (same < 0) unasked.push({ request, index })
      const call = index === undefined ? undefined : recording.modelCalls[index]
      return call === undefined
        ? Effect.die(new NotRecorded({ what: "another model call" }))
        : Effect.succeed(call)
    })

  const model = LanguageModel.make({
    generateText: ({ prompt }) =>
      Effect.flatMap(next(prompt), ({ duration, outcome }) => {
        switch (outcome._tag) {
          case "Unfinished":
            return Effect.never
          case "Failed":
            return Effect.delay(Effect.fail(outcome.error), duration)
          case "Parts":
            return Effect.delay(Effect.succeed(outcome.parts as Array<Response.PartEncoded>), duration)
        }
      }),
    streamText: ({ prompt }) =>
      Stream.unwrap(Effect.map(next(prompt), ({ duration, outcome }) => {
        switch (outcome._tag) {
          case "Unfinished":
            return Stream.never
          case "Failed":
            return Stream.fromEffect(Effect.delay(Effect.fail(outcome.error), duration))
          case "Parts": {
            const parts = Stream.concat(
              Stream.fromEffectDrain(Effect.sleep(duration)),
              Stream.fromIterable(outcome.parts as ReadonlyArray<Response.StreamPartEncoded>)
            )
            return outcome.error === undefined ? parts : Stream.concat(parts, Stream.fail(outcome.error))
          }
        }
      }))
  })
  return { intercept, left, model, unasked }
}

const revive = (fields: unknown, options: ReplayOptions): unknown => {
  if (!Predicate.hasProperty(fields, "_tag") || typeof fields._tag !== "string") return fields
  const said = decodeSaid(fields)
  if (Option.isSome(said)) return said.value
  const { _tag, ...rest } = fields as { readonly _tag: string; readonly [field: string]: unknown }
  return options.failures?.[_tag]?.(rest) ?? new InjectedFailure({ _tag, ...rest }, undefined)
}

/** How a run is replayed. */
export interface ReplayOptions {
  readonly tools: ReadonlyArray<Tool.Any>
  /** Makes the typed failures of the program, by tag, where they have to be instances of its own classes. */
  readonly failures?: Readonly<Record<string, (fields: Readonly<Record<string, unknown>>) => unknown>> | undefined
}

/** An event without what is the run's own. */
const comparable = (event: AgentEvent.AgentEvent): string =>
  neutral(textOf({ ...event, runId: "", at: 0, ...("delay" in event ? { delay: 0 } : undefined) }))

/** What happens in an order of its own: calls and agents that run at the same time may take turns in another way. */
const laneOf = (event: AgentEvent.AgentEvent): string =>
  `${event.path.join(" > ")} ${"callId" in event ? event.callId : ""}`

const lanes = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  Map.groupBy(events.map((event, index) => ({ event, index, text: comparable(event) })), ({ event }) => laneOf(event))

const eventDifference = (
  recorded: ReadonlyArray<AgentEvent.AgentEvent>,
  replayed: ReadonlyArray<AgentEvent.AgentEvent>
): Option.Option<Difference> => {
  const before = lanes(recorded)
  const after = lanes(replayed)
  const differences = [...new Set([...before.keys(), ...after.keys()])].flatMap((lane): ReadonlyArray<Difference> => {
    const was = before.get(lane) ?? []
    const is = after.get(lane) ?? []
    const at = Array.from({ length: Math.max(was.length, is.length) }, (_, at) => at)
      .find((at) => was[at]?.text !== is[at]?.text)
    return at === undefined ? [] : [{
      kind: "event",
      index: Math.min(was[at]?.index ?? Infinity, is[at]?.index ?? Infinity),
      recorded: was[at]?.event,
      replayed: is[at]?.event
    }]
  })
  return Option.fromUndefinedOr(differences.toSorted((a, b) => a.index - b.index)[0])
}

/**
 * Runs an agent again against a recording. Services of its tools are needed by its type and not used. What the model was
 * sent is compared first, then the events.
 *
 * **Example** (The same program, and one that retries less)
 *
 * ```ts
 * import { Effect, Option, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { Replay, ScriptedModel } from "@recourse/testing"
 *
 * let calls = 0
 * const Flaky = Tool.make("flaky", {
 *   success: Schema.String,
 *   effects: "read",
 *   execute: () => Effect.suspend(() => ++calls === 1 ? Effect.fail("down" as const) : Effect.succeed("up"))
 * })
 * const agent = (times: number) =>
 *   Agent.make("monitor", {
 *     tools: [Flaky],
 *     defaults: { onError: Recovery.policy({ ExecutionError: { retry: { times }, otherwise: "escalate" } }) }
 *   })
 *
 * const { recording } = await Effect.runPromise(
 *   Replay.record(agent(1), "Is it up?", { tools: [Flaky] }).pipe(
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("flaky", {}), ScriptedModel.text("yes")]))
 *   )
 * )
 * const same = await Effect.runPromise(Replay.run(agent(1), recording, { tools: [Flaky] }))
 * const other = await Effect.runPromise(Replay.run(agent(0), recording, { tools: [Flaky] }))
 *
 * same.difference // => Option.none()
 * Option.map(other.difference, ({ index, kind }) => [kind, index]) // => Option.some(["request", 1])
 * calls // => 2
 * ```
 */
export const run = <In, Out, E, R>(
  agent: Agent.Agent<In, Out, E, R>,
  recording: Recording,
  options: ReplayOptions
): Effect.Effect<Replayed<Out, E>, never, Exclude<R, LanguageModel.LanguageModel>> =>
  Effect.gen(function*() {
    const { intercept, left, model, unasked } = player(recording, options)
    const events: Array<AgentEvent.AgentEvent> = []
    const execution = agent.execute(recording.input as In, {
      streaming: recording.streaming,
      listener: (event) => Effect.sync(() => void events.push(event))
    }).pipe(
      Effect.provideService(LanguageModel.LanguageModel, yield* model),
      Effect.provideService(ToolInterceptor.ToolInterceptor, intercept)
    )
    const { exit } = yield* VirtualTime.run(
      execution as Effect.Effect<Out, E, Exclude<R, LanguageModel.LanguageModel>>
    )
    const sent = (index: number | undefined) =>
      index === undefined ? undefined : lastMessage(recording.modelCalls[index]!.request)
    const first = unasked[0]
    const difference = first !== undefined
      ? Option.some<Difference>({
        kind: "request",
        index: first.index ?? recording.modelCalls.length,
        recorded: sent(first.index),
        replayed: lastMessage(first.request)
      })
      : Option.orElse(eventDifference(recording.events, events), () =>
        left[0] === undefined
          ? Option.none()
          : Option.some<Difference>({ kind: "request", index: left[0], recorded: sent(left[0]), replayed: undefined }))
    return { exit, difference, events }
  })

/** The last message of a request: what is new in it. */
const lastMessage = (request: string): unknown => {
  const messages: unknown = JSON.parse(request)
  return Array.isArray(messages) ? messages.at(-1) : messages
}

/** A difference as text for people. */
export const print = ({ index, kind, recorded, replayed }: Difference): string =>
  [
    kind === "request"
      ? `The model is sent something else in call ${index + 1}; the last message is`
      : `Event ${index + 1} is another`,
    `- recorded: ${recorded === undefined ? "nothing" : textOf(recorded)}`,
    `+ replayed: ${replayed === undefined ? "nothing" : textOf(replayed)}`
  ].join("\n")
