/** Options of `Agent.make` that shape the requests to the model. Their errors and services are in the agent's types. */
import type * as Effect from "effect/Effect"
import type * as Prompt from "effect/ai/Prompt"
import type { HookError, HookServices, OptionOf } from "../foundation/options/inferredOptions.ts"
import type { TurnPlan, TurnState } from "../loop/turnPlan.ts"

/**
 * Options of an agent's requests.
 *
 * @category options
 * @since 0.2.0
 */
export interface TurnOptions<In, Name extends string, O = {}> {
  /** Instructions for the model in a system message; or a function of the input that returns them, once for a run. */
  readonly instructions?:
    | string
    | ((input: In) => string | Effect.Effect<string, HookError<O, "instructions">, HookServices<O, "instructions">>)
    | undefined
  /**
   * Called before each request to the model: sets its messages, its offered tools and its model, for this turn alone.
   * `undefined` leaves the turn unchanged. A retried request is not prepared again. A plan with an unknown tool is a
   * defect, `ConfigurationError`.
   */
  readonly prepareTurn?:
    | ((
      state: TurnState
    ) =>
      | TurnPlan<Name>
      | undefined
      | Effect.Effect<TurnPlan | undefined, HookError<O, "prepareTurn">, HookServices<O, "prepareTurn">>)
    | undefined
  /** Handling of a conversation that is too long for the model. Default: none, the provider's error ends the run. */
  readonly compact?: {
    /**
     * Number of tokens of the model's prompt above which the conversation is shortened, counted by
     * `History.countTokens`, without tools. Default: only once the provider has refused it as too long.
     */
    readonly maxTokens?: number | undefined
    /** Makes it shorter: a function of `History`. It is used again when the provider refuses a request as too long, once for each turn. */
    readonly by: (
      prompt: Prompt.Prompt
    ) =>
      | Prompt.Prompt
      | Effect.Effect<
        Prompt.Prompt,
        HookError<OptionOf<O, "compact">, "by">,
        HookServices<OptionOf<O, "compact">, "by">
      >
  } | undefined
}

/** The names of these options. */
export type TurnOptionName = keyof TurnOptions<never, never>
