/** Turn plan: the request of `prepareTurn` to the model: messages, tools, choice, model, instructions. */
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import { ConfigurationError } from "../../ConfigurationError.ts"
import type { RunUsage } from "../run/runEntries.ts"
import { mend } from "../history/mendHistory.ts"
import { type ToolSet, toolSet } from "./tools/toolSet.ts"
import {
  aFunction,
  anArray,
  anObject,
  aString,
  checkOptions,
  either,
  type Kind,
  oneOf
} from "../foundation/options/optionCheck.ts"
import { isPromiseLike } from "../foundation/options/valueKind.ts"

/**
 * State before a request.
 *
 * @category models
 * @since 0.2.0
 */
export interface TurnState {
  /** Number of the agent's turn; 1 is the first. */
  readonly turn: number
  /** The model's default prompt: system message, conversation, results. */
  readonly prompt: Prompt.Prompt
  /** Names of the tools that it would be offered. */
  readonly tools: ReadonlyArray<string>
  /** Untrusted tools whose words the run has read. */
  readonly taintedBy: ReadonlyArray<string>
  readonly usage: RunUsage
}

/**
 * Parts of one request. Absent ones have their defaults.
 *
 * @category models
 * @since 0.2.0
 */
export interface TurnPlan<out Name extends string = string> {
  /** The model's prompt in this turn. The conversation itself does not change: the next turn starts with all of it. */
  readonly prompt?: Prompt.Prompt | undefined
  /** A further system message, for this turn alone. */
  readonly instructions?: string | undefined
  /** The only tools that are offered. A call of another one has the result `tool_not_found`. */
  readonly tools?: ReadonlyArray<Name> | undefined
  readonly toolChoice?: "auto" | "required" | "none" | { readonly tool: Name } | undefined
  /** The model of the turn, in place of the agent's. */
  readonly model?: LanguageModel.LanguageModel | undefined
  /** Wraps the request: sets options of a provider, for example `OpenAiCompatible.withConfigOverride`. */
  readonly around?: (<A, E, R>(request: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) | undefined
}

/** The prompt of a request: well formed, whatever the plan says. */
export const promptOf = (prompt: Prompt.Prompt, plan: TurnPlan): Prompt.Prompt => {
  const planned = plan.prompt === undefined ? prompt : mend(plan.prompt).prompt
  if (plan.instructions === undefined) return planned
  const first = planned.content.findIndex(({ role }) => role !== "system")
  const index = first < 0 ? planned.content.length : first
  return Prompt.fromMessages([
    ...planned.content.slice(0, index),
    Prompt.systemMessage({ content: plan.instructions }),
    ...planned.content.slice(index)
  ])
}

/** A plan, or none. */
export const aPlan: Kind = {
  is: (value) => value === undefined || anObject.is(value) && !isPromiseLike(value),
  called: "a plan such as { tools: [\"search\"] }, or undefined"
}

const fields: Readonly<Record<keyof TurnPlan, Kind>> = {
  prompt: { is: Prompt.isPrompt, called: "a Prompt" },
  instructions: aString,
  tools: anArray,
  toolChoice: either(oneOf("auto", "required", "none"), anObject),
  model: anObject,
  around: aFunction
}

/** A plan whose tools are there, or were there when the run began. */
export const checked = (
  agent: string,
  all: ToolSet,
  plan: TurnPlan | undefined,
  first: ToolSet = all
): TurnPlan | undefined => {
  if (plan === undefined) return undefined
  checkOptions(`Agent "${agent}", prepareTurn`, plan, { kinds: fields, otherNames: {} })
  const unknown = plan.tools?.find((name) => !all.byName.has(name) && !first.byName.has(name))
  if (unknown !== undefined) {
    throw new ConfigurationError({
      subject: `Agent "${agent}"`,
      problem: `prepareTurn offers "${unknown}", which is none of its tools (${[...all.byName.keys()].join(", ")})`
    })
  }
  return plan
}

/** The tools that a plan leaves. Questions for the state of tasks go with the tool that they are of. */
export const toolsOf = (offered: ToolSet, { tools }: TurnPlan): ToolSet => {
  if (tools === undefined) return offered
  const named = new Set<string>(tools)
  const all = [...offered.byName.values()]
  const left = all.filter(({ isFinder, statusOf, tool }) => isFinder || named.has(statusOf ?? tool.name))
  return left.length === all.length ? offered : toolSet(left)
}

/** A request with the plan's model, and its `around`. */
export const asPlanned = <A, E, R>(
  request: Effect.Effect<A, E, R>,
  { around, model }: TurnPlan
): Effect.Effect<A, E, R> => {
  const asked = model === undefined ? request : Effect.provideService(request, LanguageModel.LanguageModel, model)
  return (around === undefined ? asked : around(asked)) as Effect.Effect<A, E, R>
}
