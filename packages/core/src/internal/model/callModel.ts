/** Model call: one request, streamed or not, and its complete reply or failure; its tokens and their cost are charged to the run. Tools are not resolved here. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as AiError from "effect/ai/AiError"
import type * as IdGenerator from "effect/ai/IdGenerator"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import type { Issue } from "../../ToolError.ts"
import { isCall, textOf, withShallowArguments } from "./responseParts.ts"
import * as ModelRequest from "./sendRequest.ts"
import type { TurnEvents } from "./modelTurnEvents.ts"
import { countTokens } from "../foundation/tokens.ts"
import type { Run } from "../run/run.ts"
import { type Price, Prices, type PriceTable } from "../../Budget.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import * as ModelProvider from "../../ModelProvider.ts"
import { measureTokens } from "../run/observe/telemetry.ts"
import { use } from "../run/state/runState.ts"

/** The tokens of an answer, and how many of them are estimated. */
interface Counted {
  readonly usage: Response.FinishPart["usage"] | undefined
  readonly estimated: number
}

/** True if a count is missing, or zero although a request was sent. */
const isMissing = (count: number | undefined): boolean => count === undefined || count === 0

/**
 * The tokens of an answer. If the provider reports none and a budget caps tokens or cost, they are estimated: by the `Tokenizer` of the
 * context, else by the length of the text. Definitions of tools are not counted.
 */
const countUsage = (
  run: Run,
  prompt: Prompt.Prompt,
  content: ReadonlyArray<Response.AnyPart>
): Effect.Effect<Counted> => {
  const usage = content.find((part) => part.type === "finish")?.usage
  const inputIsMissing = isMissing(usage?.inputTokens.total)
  const outputIsMissing = isMissing(usage?.outputTokens.total)
  if (
    (!inputIsMissing && !outputIsMissing) || (!run.account.hasCap("tokens") && !run.account.hasCap("cost"))
  ) return Effect.succeed({ usage, estimated: 0 })
  const none = Effect.succeed(0)
  return Effect.map(
    Effect.all([
      inputIsMissing ? countTokens(prompt.content) : none,
      outputIsMissing ? countTokens(Prompt.fromResponseParts(content).content) : none
    ]),
    ([input, output]): Counted => ({
      usage: new Response.Usage({
        inputTokens: inputIsMissing
          ? { total: input, uncached: input, cacheRead: undefined, cacheWrite: undefined }
          : usage!.inputTokens,
        outputTokens: outputIsMissing ? { total: output, text: output, reasoning: undefined } : usage!.outputTokens
      }),
      estimated: input + output
    })
  )
}

const million = 1_000_000

/** The name of a model without the date of its version: `m-2026-08-06`, `m-20260806`, `m@20260806`. */
const undated = (model: string): string => model.replace(/[-@:](?:\d{4}-\d{2}-\d{2}|\d{8})$/, "")

/** The price of a model, else that of the same model with another date, or without one. */
const priceOf = (table: PriceTable | undefined, model: string | undefined): Price | undefined => {
  if (table === undefined || model === undefined) return undefined
  if (Object.hasOwn(table, model)) return table[model]
  const name = undated(model)
  if (Object.hasOwn(table, name)) return table[name]
  return name === model ? Object.entries(table).find(([priced]) => undated(priced) === name)?.[1] : undefined
}

const withoutPrice = (run: Run, model: string | undefined): Effect.Effect<never> =>
  Effect.die(
    new ConfigurationError({
      subject: `Agent "${run.path.at(-1)}"`,
      problem: `budget.cost is set, and Budget.layerPrices has no price for ${
        model === undefined ? "its model" : `the model "${model}"`
      }`
    })
  )

/** Ends a run with a limited cost if its cost is used up, or cannot be known, before a model is called. */
export const requireCost = (run: Run, context: Context.Context<never>): Effect.Effect<void> => {
  const table = Context.get(context, Prices)
  const model = ModelProvider.nameIn(context)
  return table === undefined || (model !== undefined && priceOf(table, model) === undefined)
    ? withoutPrice(run, model)
    : run.account.require("cost")
}

const priced = (price: Price, { inputTokens, outputTokens }: Response.FinishPart["usage"]): number => {
  const { cacheRead = 0, cacheWrite = 0, total = 0 } = inputTokens
  const { cached = price.input, cacheWrite: written = price.input, input, output } = price
  return (Math.max(0, total - cacheRead - cacheWrite) * input + cacheRead * cached + cacheWrite * written +
    (outputTokens.total ?? 0) * output) / million
}

/**
 * Adds the cost of an answer's tokens. The provider's name of the model has precedence: another model may have
 * answered.
 */
const chargeCost = (
  run: Run,
  context: Context.Context<never>,
  content: ReadonlyArray<Response.AnyPart>,
  usage: Response.FinishPart["usage"] | undefined
): Effect.Effect<void> => {
  const table = Context.get(context, Prices)
  if (table === undefined) return Effect.void
  const answering = content.find((part) => part.type === "response-metadata")?.modelId
  const price = priceOf(table, answering) ?? priceOf(table, ModelProvider.nameIn(context))
  if (price === undefined) return run.account.hasCap("cost") ? withoutPrice(run, answering) : Effect.void
  if (usage === undefined) return Effect.void
  const cost = priced(price, usage)
  use(run, "cost", cost)
  return run.account.addCost(cost)
}

/** Adds the tokens of an answer, and their cost, to the usage and the budget of its run. */
const chargeAnswer = (
  run: Run,
  context: Context.Context<never>,
  prompt: Prompt.Prompt,
  content: ReadonlyArray<Response.AnyPart>
): Effect.Effect<void> =>
  Effect.flatMapEager(countUsage(run, prompt, content), ({ estimated, usage }) => {
    const inputTokens = usage?.inputTokens.total ?? 0
    const outputTokens = usage?.outputTokens.total ?? 0
    use(run, "inputTokens", inputTokens)
    use(run, "cachedInputTokens", usage?.inputTokens.cacheRead ?? 0)
    use(run, "outputTokens", outputTokens)
    use(run, "totalTokens", inputTokens + outputTokens)
    if (estimated > 0) use(run, "estimatedTokens", estimated)
    else if (usage !== undefined && run.start.tracing.isMeasured) measureTokens(context, inputTokens, outputTokens)
    return Effect.flatMapEager(
      run.account.addTokens(inputTokens + outputTokens),
      () => chargeCost(run, context, content, usage)
    )
  })

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
  /** True if the agent or the provider has calls to execute, or has executed them. */
  let hasAnyCall = false
  for (const part of content) {
    text += textOf(part)
    hasAnyCall ||= part.type === "tool-call"
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
      return finishReason === "tool-calls" && !hasAnyCall
        ? Effect.fail(invalidOutput("The answer ends for tool calls and has none: it is not complete"))
        : Effect.succeed({ content, text, finishReason })
  }
}

/** Adds the usage of an answer to the run's, and emits that the model has answered. */
const answered = (
  run: Run,
  events: TurnEvents | undefined,
  prompt: Prompt.Prompt,
  content: ReadonlyArray<Response.AnyPart>,
  context: Context.Context<never>
): Effect.Effect<void> =>
  Effect.flatMapEager(
    chargeAnswer(run, context, prompt, content),
    () => events === undefined ? Effect.void : events.finished(content)
  )

const choiceText = (choice: ModelRequest.Request["toolChoice"]): string | undefined =>
  choice === undefined || typeof choice === "string" ? choice : JSON.stringify(choice)

/** Asks the model once. */
export const ask = (
  run: Run,
  events: TurnEvents | undefined,
  request: ModelRequest.Request
): Effect.Effect<Reply, AiError.AiError, IdGenerator.IdGenerator | LanguageModel.LanguageModel> =>
  Effect.contextWith((context: Context.Context<LanguageModel.LanguageModel>) => {
    const model = Context.get(context, LanguageModel.LanguageModel)
    const { prompt, toolkit } = request
    const answers = () =>
      events !== undefined && run.start.streaming
        ? streamed(events, (onParts) => ModelRequest.listen(model, request, context, onParts))
        : ModelRequest.generate(model, request, context)
    const asked = events === undefined ? answers() : Effect.flatMapEager(
      events.requested(prompt, Object.keys(toolkit.tools), choiceText(request.toolChoice)),
      answers
    )
    return Effect.flatMap(
      asked,
      (parts) => Effect.flatMapEager(answered(run, events, prompt, parts, context), () => complete(parts))
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
  run: Run,
  events: TurnEvents | undefined,
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
    return Effect.flatMapEager(events === undefined ? Effect.void : events.requested(prompt, []), () => generated).pipe(
      Effect.map((response): ObjectReply<A> => ({ content: response.content, value: Result.succeed(response.value) })),
      Effect.catchReason("AiError", "StructuredOutputError", (reason) =>
        Effect.succeed<ObjectReply<A>>({
          content: textParts(reason.responseText),
          value: Result.fail([{ path: [], expected: "expected an object that fits the schema", problem: "invalid" }])
        })),
      Effect.tap((reply) => answered(run, events, prompt, reply.content, context))
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
