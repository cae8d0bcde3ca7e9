/** Usage and cost of one answer: the tokens that its provider reported, or an estimate if a budget needs one, by the prices of the program. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import * as Context from "effect/Context"
import { countTokens } from "../foundation/tokens.ts"
import type { Run } from "../run/run.ts"
import { finishOf } from "./responseParts.ts"
import { type Price, Prices, type PriceTable } from "../../Budget.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { knownModelName, measureTokens } from "../run/observe/counters.ts"
import { use } from "../run/state/counts.ts"

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
  const usage = finishOf(content)?.usage
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
  const model = knownModelName(context)
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
  const price = priceOf(table, answering) ?? priceOf(table, knownModelName(context))
  if (price === undefined) return run.account.hasCap("cost") ? withoutPrice(run, answering) : Effect.void
  if (usage === undefined) return Effect.void
  const cost = priced(price, usage)
  use(run, "cost", cost)
  return run.account.addCost(cost)
}

/** Adds the tokens of an answer, and their cost, to the usage and the budget of its run. */
export const chargeAnswer = (
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
