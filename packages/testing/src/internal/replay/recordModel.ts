/** Recorder of a model: the request and the answer of each call, streamed or not. */
import { Clock, Effect, Exit, Option, Schema, Stream } from "effect"
import { AiError, type LanguageModel, Response, Toolkit } from "effect/ai"
import { markNested } from "./nestedExecution.ts"
import type { ModelCall, Writable } from "./recording.ts"
import { requestText } from "./requestText.ts"
import { failureOf, timed } from "./timed.ts"

type Entry = Writable<typeof ModelCall.Type>

interface Options {
  readonly prompt?: unknown
}

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

const modelErrorOf = (exit: Exit.Exit<unknown, unknown>): AiError.AiError | undefined =>
  Exit.isFailure(exit)
    ? Option.getOrUndefined(Option.filter(failureOf(exit.cause), AiError.isAiError))
    : undefined

/** Adds an entry for each call of a model. */
class ModelRecorder {
  private readonly modelCalls: Array<Entry>

  constructor(modelCalls: Array<Entry>) {
    this.modelCalls = modelCalls
  }

  /** An answer at once. */
  answer(
    options: Options,
    call: Effect.Effect<LanguageModel.GenerateTextResponse<{}>, AiError.AiError>
  ): Effect.Effect<LanguageModel.GenerateTextResponse<{}>, AiError.AiError> {
    return Effect.flatMap(this.open(options), (entry) =>
      timed(call, (exit, duration) =>
        Effect.sync(() => {
          const error = modelErrorOf(exit)
          entry.duration = duration
          entry.outcome = Exit.isSuccess(exit)
            ? {
              _tag: "Parts",
              parts: (exit.value.content as ReadonlyArray<Response.AnyPart>).map((part) =>
                inOrder(encoded(false)(part))
              )
            }
            : error === undefined
            ? { _tag: "Unfinished" }
            : { _tag: "Failed", error }
        })))
  }

  /** A streamed answer; the parts before an error are recorded too. */
  stream(
    options: Options,
    answer: Stream.Stream<Response.AnyPart, AiError.AiError>
  ): Stream.Stream<Response.AnyPart, AiError.AiError> {
    return Stream.unwrap(Effect.gen({ self: this }, function*() {
      const entry = yield* this.open(options)
      const start = yield* Clock.currentTimeMillis
      const parts: Array<unknown> = []
      return answer.pipe(
        Stream.map((part) => {
          parts.push(inOrder(encoded(true)(part)))
          return part
        }),
        Stream.onExit((exit) =>
          Effect.map(Clock.currentTimeMillis, (end) => {
            const error = modelErrorOf(exit)
            entry.duration = end - start
            entry.outcome = error !== undefined
              ? { _tag: "Parts", parts, error }
              : Exit.isSuccess(exit)
              ? { _tag: "Parts", parts }
              : { _tag: "Unfinished" }
          })
        )
      )
    }))
  }

  private open({ prompt }: Options): Effect.Effect<Entry> {
    return Effect.andThen(
      markNested,
      Effect.sync(() => {
        const entry: Entry = { request: requestText(prompt), duration: 0, outcome: { _tag: "Unfinished" } }
        this.modelCalls.push(entry)
        return entry
      })
    )
  }
}

/** Returns a model that adds an entry for each of its calls. */
export const recordModel = (
  inner: LanguageModel.LanguageModel,
  modelCalls: Array<Entry>
): LanguageModel.LanguageModel => {
  const recorder = new ModelRecorder(modelCalls)
  return {
    ...inner,
    generateText: ((options: {}) =>
      recorder.answer(
        options,
        inner.generateText(options as never) as never
      )) as unknown as LanguageModel.LanguageModel["generateText"],
    generateObject: ((options: {}) =>
      recorder.answer(
        options,
        inner.generateObject(options as never) as never
      )) as unknown as LanguageModel.LanguageModel["generateObject"],
    streamText: ((options: {}) =>
      recorder.stream(
        options,
        inner.streamText(options as never) as Stream.Stream<Response.AnyPart, AiError.AiError>
      )) as unknown as LanguageModel.LanguageModel["streamText"]
  }
}
