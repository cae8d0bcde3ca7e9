/**
 * Budgets: how much a run may use. An agent's caps hold for the agent and everything nested in it (fixers, agents used
 * as tools). A nested agent's own caps hold below those of its parents, never instead of them.
 *
 * An agent without a budget has the caps of {@link Defaults}: its run ends at them.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import {
  aCap,
  aDuration,
  anAmount,
  anAmountCap,
  aShare,
  aTimeLimit,
  checkArgument,
  type Checked,
  checkOptions,
  type Kind as OptionKind,
  listOf
} from "./internal/foundation/options/optionCheck.ts"

/**
 * The things that are counted.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Kind = Schema.Literals([
  "turns",
  "toolCalls",
  "retriesPerTool",
  "fixes",
  "transportRetries",
  "allFailureRounds",
  "duration",
  "tokens",
  "cost",
  "maxDepth",
  "argumentSize",
  "sameToolInARow"
])

/**
 * The things that are counted.
 *
 * @category models
 * @since 0.2.0
 */
export type Kind = typeof Kind.Type

/**
 * The caps of an agent. Absent caps are those of {@link Defaults}: 50 turns, 8 levels, 262,144 characters of arguments,
 * and no other cap. `Infinity` lifts a cap; {@link unlimited} lifts all default ones.
 *
 * @category models
 * @since 0.2.0
 */
export interface Budget {
  /** Model calls, all of them: repeated ones, a skill's choice, an output's correction, nested agents'. Default: 50. */
  readonly turns?: number | undefined
  /** Executions of tools: each attempt that reaches the executor is one. Default: no cap. */
  readonly toolCalls?: number | undefined
  /**
   * Attempts of one tool, over the run, beyond the first of each of its calls and not requested by a fixer. Default:
   * no cap.
   */
  readonly retriesPerTool?: number | undefined
  /** Runs of fixers. Default: no cap. */
  readonly fixes?: number | undefined
  /** HTTP requests of model calls that are sent again by `TransportRetry`. Default: no cap. */
  readonly transportRetries?: number | undefined
  /** Rounds in a row in which every call failed; a success resets the count. Default: no cap. */
  readonly allFailureRounds?: number | undefined
  /** Wall clock from the start of the agent. At the deadline the run is interrupted. Default: no cap. */
  readonly duration?: Duration.Input | undefined
  /**
   * Total tokens that the provider reports, checked before each model call. Unreported tokens are estimated, by the
   * `Tokenizer` of `effect/ai` if one is provided, and counted in `estimatedTokens` of the usage. Default: no cap.
   */
  readonly tokens?: number | undefined
  /**
   * Cost of the tokens by the program's {@link Prices}, in their currency, checked before each model call. Default:
   * no cap.
   */
  readonly cost?: number | undefined
  /**
   * Agents within agents, below this one: 0 lets it run none. Agents that are functions are not counted. Default: 8.
   */
  readonly maxDepth?: number | undefined
  /** Characters of one call's arguments as JSON text: the model's own, and a fixer's. Default: 262,144. */
  readonly argumentSize?: number | undefined
  /**
   * Calls of one tool that the model makes in a row, over all its answers; a call of another tool resets the count.
   * It counts in the agent's own conversation only. Default: no cap.
   */
  readonly sameToolInARow?: number | undefined
  /**
   * Shares of a cap, from 0 to 1, at which a `BudgetThreshold` event is emitted: 0 at the first use, 1 when the cap
   * is used up. `maxDepth` and `argumentSize` have none. Default: `[0.8]`.
   */
  readonly thresholds?: ReadonlyArray<number> | undefined
}

/** Codec of a stored kind: reads `levels`, the name that `maxDepth` had in version 0.1, too. */
const StoredKind: Schema.Codec<Kind, string> = Schema.String.pipe(Schema.decodeTo(Kind, {
  decode: SchemaGetter.transform((stored) => (stored === "levels" ? "maxDepth" : stored) as Kind),
  encode: SchemaGetter.transform((kind: Kind): string => kind)
}))

/**
 * A cap was reached and more was asked for. `used` and `limit` are counts, or milliseconds for `duration`.
 *
 * @category errors
 * @since 0.2.0
 */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>()("BudgetExceeded", {
  reason: StoredKind,
  /** The agent whose cap it is. */
  agent: Schema.String,
  limit: Schema.Finite,
  used: Schema.Finite,
  /** The tool, for `retriesPerTool`, `argumentSize` and `sameToolInARow`. */
  tool: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const of = this.tool === undefined ? "" : ` of tool "${this.tool}"`
    const unit = this.reason === "duration" ? " ms" : ""
    return `Budget of agent "${this.agent}" exceeded: ${this.reason}${of}, limit ${this.limit}${unit}, used ${this.used}${unit}`
  }
}

/**
 * Additional amounts of the named caps; made by {@link extend}.
 *
 * @category models
 * @since 0.2.0
 */
export type Extension = Partial<Record<Kind, number>>

/**
 * Adds to caps. With this answer of an agent's `onBudgetExceeded` the run continues; with `undefined` it ends.
 *
 * **Example** (Five more turns, once)
 *
 * ```ts
 * import { Budget } from "@recourse/core"
 *
 * Budget.extend({ turns: 5, duration: "30 seconds" }) // => { turns: 5, duration: 30000 }
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const extend = (more: Omit<Budget, "thresholds">): Extension => {
  checkOptions("Budget.extend", more, extensionOptions)
  const { duration, ...counts } = more
  const extension: Extension = { ...(counts as Extension) }
  if (duration !== undefined) extension.duration = Duration.toMillis(duration)
  return extension
}

const fractional: ReadonlySet<Kind> = new Set<Kind>(["cost"])

const amounts = Object.fromEntries(
  Kind.literals.map((kind) => [kind, fractional.has(kind) ? anAmountCap : aCap])
)

const otherNames = {
  maxSteps: "turns",
  maxTurns: "turns",
  maxIterations: "turns",
  maxTokens: "tokens",
  timeout: "duration",
  maxDuration: "duration",
  retries: "retriesPerTool",
  maxToolCalls: "toolCalls",
  maxCost: "cost"
}

const extensionOptions: Checked = { kinds: { ...amounts, duration: aDuration }, otherNames }

/** @internal Throws `ConfigurationError` for an extension that a program has made in another way than by {@link extend}. */
export const checkExtension = (subject: string, extension: Extension): void =>
  checkOptions(subject, extension, { kinds: { ...amounts, duration: anAmountCap }, otherNames })

const inherited = { turns: 50, maxDepth: 8, argumentSize: 262_144 } as const

/**
 * Lifts the caps that an agent has without saying so. Spread it to set others: `{ ...Budget.unlimited, duration: "1 hour" }`.
 *
 * **Example** (A run that ends by its time alone)
 *
 * ```ts
 * import { Agent, Budget } from "@recourse/core"
 *
 * Agent.make("watcher", { budget: { ...Budget.unlimited, duration: "1 hour" } }).name // => "watcher"
 * Budget.unlimited // => { turns: Infinity, maxDepth: Infinity, argumentSize: Infinity }
 * ```
 *
 * @category constants
 * @since 0.2.0
 */
export const unlimited: Readonly<Record<"turns" | "maxDepth" | "argumentSize", number>> = {
  turns: Infinity,
  maxDepth: Infinity,
  argumentSize: Infinity
}

/**
 * Caps by kind: counts, and milliseconds for `duration`.
 *
 * @category models
 * @since 0.2.0
 */
export type Caps = Readonly<Partial<Record<Kind, number>>>

const shares: OptionKind = { ...listOf(aShare), called: "a list of numbers from 0 to 1" }

const budgetOptions: Checked = { kinds: { ...amounts, duration: aTimeLimit, thresholds: shares }, otherNames }

/** @internal Validates caps; throws `ConfigurationError` for an invalid one. */
export const caps = (subject: string, budget: Budget): Caps => {
  checkOptions(subject, budget, budgetOptions, "budget.")
  const read: Partial<Record<Kind, number>> = {}
  for (const kind of Kind.literals) {
    if (kind === "duration") continue
    const cap = budget[kind]
    if (cap !== undefined) read[kind] = cap
  }
  if (budget.duration !== undefined) {
    read.duration = Duration.toMillis(budget.duration)
  }
  return read
}

/**
 * The caps of agents that do not say their own, cap by cap.
 *
 * @category models
 * @since 0.2.0
 */
export interface InheritedBudget {
  readonly caps: Caps
  readonly thresholds: ReadonlyArray<number>
}

/**
 * The caps of every agent that does not say its own: 50 turns, 8 levels of agents within agents, 262,144 characters of arguments.
 *
 * @category services
 * @since 0.2.0
 */
export const Defaults: Context.Reference<InheritedBudget> = Context.Reference<InheritedBudget>(
  "@recourse/core/Budget/Defaults",
  { defaultValue: () => ({ caps: inherited, thresholds: [0.8] }) }
)

/**
 * Default caps of a program: for each agent below without its own. Absent caps stay as they are without the layer;
 * {@link unlimited} lifts them.
 *
 * **Example** (Two turns, unless an agent says more)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Budget, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Look = Tool.make("look", { effects: "read", execute: () => Effect.void })
 * const turns = ["look", "look", "look"].map((name) => ScriptedModel.call(name, {}))
 * const agent = Agent.make("a", { tools: [Look] }).pipe(Agent.provide(ScriptedModel.layer(turns)))
 *
 * const failure = await Effect.runPromise(
 *   agent.run("Go").pipe(Effect.catchTag("BudgetExceeded", (error) => Effect.succeed(error.message)), Effect.provide(Budget.layerDefaults({ turns: 2 })))
 * )
 * failure // => "Budget of agent \"a\" exceeded: turns, limit 2, used 2"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerDefaults = (budget: Budget): Layer.Layer<never> =>
  Layer.succeed(Defaults, {
    caps: { ...inherited, ...caps("Budget.layerDefaults", budget) },
    thresholds: budget.thresholds ?? [0.8]
  })

const priceOptions = {
  kinds: { input: anAmount, output: anAmount, cached: anAmount, cacheWrite: anAmount },
  otherNames: {}
}

/**
 * Price of a million tokens. By default `cached` and `cacheWrite` cost as much as `input`.
 *
 * @category models
 * @since 0.2.0
 */
export interface Price {
  readonly input: number
  readonly output: number
  /** Input tokens that the provider read from its cache. */
  readonly cached?: number | undefined
  /** Input tokens that the provider wrote into its cache. */
  readonly cacheWrite?: number | undefined
}

/**
 * Prices by model name, as reported by the provider's answer or by the layer of the model; all in one currency.
 *
 * @category models
 * @since 0.2.0
 */
export type PriceTable = Readonly<Record<string, Price>>

/**
 * Prices of the program's models. Default: none. Usage then has no cost, and an agent with a cap of `cost` does not
 * run.
 *
 * @category services
 * @since 0.2.0
 */
export const Prices: Context.Reference<PriceTable | undefined> = Context.Reference<PriceTable | undefined>(
  "@recourse/core/Budget/Prices",
  { defaultValue: () => undefined }
)

/**
 * A layer of prices for a million tokens, by the model's name.
 *
 * An agent with a cap of `cost` dies with a `ConfigurationError` if its model has no price: before the first request if
 * the model's name is known, else at its answer.
 *
 * **Example** (No more than 50 cents)
 *
 * ```ts
 * import { Agent, Budget } from "@recourse/core"
 *
 * const prices = Budget.layerPrices({ "small-1": { input: 0.25, cached: 0.025, output: 2 } })
 * const clerk = Agent.make("clerk", { budget: { cost: 0.5 } })
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerPrices = (prices: PriceTable): Layer.Layer<never> => {
  for (const [model, price] of Object.entries(prices)) {
    checkOptions("Budget.layerPrices", price, priceOptions, `${model}.`)
    for (const kind of ["input", "output"] as const) {
      checkArgument("Budget.layerPrices", `${model}.${kind}`, price[kind], anAmount)
    }
  }
  return Layer.succeed(Prices, prices)
}
