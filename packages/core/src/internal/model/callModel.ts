/** Model call: one request, streamed or not, and its complete reply or failure. Tools are not resolved here. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as AiError from "effect/ai/AiError"
import type * as IdGenerator from "effect/ai/IdGenerator"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import type { Issue } from "../../ToolError.ts"
import { chargeAnswer } from "./usage.ts"
import { isCall, textOf, withShallowArguments } from "./responseParts.ts"
import * as ModelRequest from "./sendRequest.ts"
import type { TurnEvents } from "./modelTurnEvents.ts"

/** A complete answer of the model. */
export interface Reply {
  readonly content: ReadonlyArray<Response.AnyPart>
  readonly text: string
  readonly finishReason: Response.FinishReason
}

const failure = (reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "Recourse", method: "Agent", reason })

const invalidOutput = (description: string): AiError.AiError => failure(new AiError.InvalidOutputError({ description }))

/** Only a complete answer is a reply: no part of a cut or filtered one is executed or passed on as an answer. */
const complete = (parts: ReadonlyArray<Response.AnyPart>): Effect.Effect<Reply, AiError.AiError> => {
  const content = parts.map(withShallowArguments)
  let text = ""
  let finishReason: Response.FinishReason | undefined
  let hasCalls = false
  for (const part of content) {
    text += textOf(part)
    if (part.type === "finish") finishReason = part.reason
    else if (isCall(part)) hasCalls = true
    else if (part.type === "error") {
      return AiError.isAiError(part.error)
        ? Effect.fail(part.error)
        : Effect.fail(
          failure(new AiError.UnknownError({ description: "The provider reported an error in its stream" }))
        )
    }
  }
  switch (finishReason) {
    case undefined:
      return Effect.fail(invalidOutput("The answer ended without a finish reason: it is not complete"))
    case "content-filter":
      return Effect.fail(
        failure(new AiError.ContentPolicyError({ description: "The provider's content filter stopped the answer" }))
      )
    case "length":
    case "error":
    case "other":
    case "unknown":
      return Effect.fail(invalidOutput(`The answer is not complete: finish reason "${finishReason}"`))
    default:
      if (text === "" && !hasCalls && finishReason !== "pause") return Effect.fail(invalidOutput("The answer is empty"))
      // Without its calls the text is an announcement. Calls that the provider has executed are calls, too.
      return finishReason === "tool-calls" && !content.some(({ type }) => type === "tool-call")
        ? Effect.fail(invalidOutput("The answer ends for tool calls and has none: it is not complete"))
        : Effect.succeed({ content, text, finishReason })
  }
}

/** Adds the usage of an answer to the run's, and emits that the model has answered. */
const answered = (
  events: TurnEvents,
  prompt: Prompt.Prompt,
  content: ReadonlyArray<Response.AnyPart>,
  context: Context.Context<never>
): Effect.Effect<void> =>
  Effect.flatMapEager(chargeAnswer(events.run, context, prompt, content), () => events.finished(content))

const choiceText = (choice: ModelRequest.Request["toolChoice"]): string | undefined =>
  choice === undefined || typeof choice === "string" ? choice : JSON.stringify(choice)

/** Asks the model once. */
export const ask = (
  events: TurnEvents,
  request: ModelRequest.Request
): Effect.Effect<Reply, AiError.AiError, IdGenerator.IdGenerator | LanguageModel.LanguageModel> =>
  Effect.contextWith((context: Context.Context<LanguageModel.LanguageModel>) => {
    const model = Context.get(context, LanguageModel.LanguageModel)
    const { prompt, toolkit } = request
    const asked = Effect.flatMapEager(
      events.requested(prompt, Object.keys(toolkit.tools), choiceText(request.toolChoice)),
      () =>
        events.run.start.streaming
          ? streamed(events, (onParts) => ModelRequest.listen(model, request, context, onParts))
          : ModelRequest.generate(model, request, context)
    )
    return Effect.flatMap(
      asked,
      (parts) => Effect.flatMapEager(answered(events, prompt, parts, context), () => complete(parts))
    )
  })

/** An answer to an object request: the model's text, and the object, or the reason why it is none. */
export interface ObjectReply<A> {
  readonly content: ReadonlyArray<Response.AnyPart>
  readonly value: Result.Result<A, ReadonlyArray<Issue>>
}

const textParts = (text: string): ReadonlyArray<Response.AnyPart> =>
  text === "" ? [] : [Response.makePart("text", { text })]

/** Asks the model once for an object of a schema. An object that does not fit is an answer, not a failure. */
export const askObject = <A>(
  events: TurnEvents,
  prompt: Prompt.Prompt,
  objectName: string,
  schema: Schema.Codec<A, Record<string, unknown>, unknown, unknown>
): Effect.Effect<ObjectReply<A>, AiError.AiError, LanguageModel.LanguageModel> =>
  Effect.contextWith((context: Context.Context<LanguageModel.LanguageModel>) => {
    const model = Context.get(context, LanguageModel.LanguageModel)
    const generated = model.generateObject({ prompt, objectName, schema }) as unknown as Effect.Effect<
      LanguageModel.GenerateObjectResponse<{}, A>,
      AiError.AiError
    >
    return Effect.flatMapEager(events.requested(prompt, []), () => generated).pipe(
      Effect.map((response): ObjectReply<A> => ({ content: response.content, value: Result.succeed(response.value) })),
      Effect.catchReason("AiError", "StructuredOutputError", (reason) =>
        Effect.succeed<ObjectReply<A>>({
          content: textParts(reason.responseText),
          value: Result.fail([{ path: [], expected: "expected an object that fits the schema", problem: "invalid" }])
        })),
      Effect.tap((reply) => answered(events, prompt, reply.content, context))
    )
  })

const streamed = (
  events: TurnEvents,
  listen: (
    onParts: (parts: ReadonlyArray<Response.AnyPart>) => Effect.Effect<void>
  ) => Effect.Effect<void, AiError.AiError, IdGenerator.IdGenerator>
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError, IdGenerator.IdGenerator> =>
  Effect.suspend(() => {
    const content: Array<Response.AnyPart> = []
    events.heard = content
    const listening = listen((parts) => {
      content.push(...parts)
      return events.parts(parts)
    })
    return Effect.as(listening, content)
  })
