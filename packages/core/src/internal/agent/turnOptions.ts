/** Options of `Agent.make` that shape the requests to the model. Their errors and services stand in the agent's types. */
import type * as Effect from "effect/Effect"
import type * as Prompt from "effect/ai/Prompt"
import type { TurnPlan, TurnState } from "../loop/turnPlan.ts"

/** How the requests of an agent are made. */
export interface TurnOptions<In, Name extends string, IE, IR, PE, PR, KE, KR> {
  /** What the model is told to do, as a system message; or a function that says it of the input, once for a run. */
  readonly instructions?: string | ((input: In) => string | Effect.Effect<string, IE, IR>) | undefined
  /**
   * Called before each request to the model: says what it reads, which tools it is offered, which model answers, for this turn
   * alone. `undefined` leaves the turn as it is. A request that is tried again is not prepared again. A plan that names a tool that
   * the agent does not have is a defect, `ConfigurationError`.
   */
  readonly prepareTurn?:
    | ((state: TurnState) => TurnPlan<Name> | undefined | Effect.Effect<TurnPlan | undefined, PE, PR>)
    | undefined
  /** What to do about a conversation that is too long for the model. Default: nothing, the provider's error ends the run. */
  readonly compact?: {
    /**
     * How many tokens the model may read before the conversation is made shorter, counted by `History.countTokens`, without tools.
     * Left out: only once the provider has refused it as too long.
     */
    readonly maxTokens?: number | undefined
    /** Makes it shorter: a function of `History`. It is used again when the provider refuses a request as too long, once for each turn. */
    readonly by: (prompt: Prompt.Prompt) => Prompt.Prompt | Effect.Effect<Prompt.Prompt, KE, KR>
  } | undefined
}

/** The names of these options. */
export type TurnOptionName = keyof TurnOptions<never, never, 0, 0, 0, 0, 0, 0>
