/** Handed off: the failure by which an agent gives a conversation away. */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"

/**
 * The model gave the conversation to another agent. The error of the tools that {@link handoffTo} makes.
 *
 * @category errors
 * @since 0.2.0
 */
export class HandedOff extends Schema.TaggedError<HandedOff>()("HandedOff", {
  to: Schema.String,
  /** The model's note for the other agent. */
  note: Schema.optionalKey(Schema.String),
  /**
   * No agent takes the conversation: it was handed over too often, or no agent has that name. The run of the agent has
   * failed then.
   */
  isRefused: Schema.optionalKey(Schema.Literal(true))
}) {
  override get message(): string {
    return this.isRefused === true
      ? `The conversation was given to "${this.to}", and no agent takes it`
      : `The conversation was given to "${this.to}"`
  }
}

/** The names of the agents that take the conversation of the outer run; `undefined` if only the program knows. */
export const Takers: Context.Reference<ReadonlyArray<string> | undefined> = Context.Reference<
  ReadonlyArray<string> | undefined
>("@recourse/core/Agent/Takers", { defaultValue: () => undefined })
