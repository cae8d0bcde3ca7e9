/** Handed off: the failure by which an agent gives a conversation away. */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"

/** The model gave the conversation to another agent. The error of the tools that {@link handoffTo} makes. */
export class HandedOff extends Schema.TaggedError<HandedOff>()("HandedOff", {
  to: Schema.String,
  /** What the model says that the other agent has to know. */
  note: Schema.optionalKey(Schema.String),
  /** Nobody takes the conversation: it has changed hands too often, or no agent has that name. Then the run of the agent has failed. */
  isRefused: Schema.optionalKey(Schema.Literal(true))
}) {
  override get message(): string {
    return this.isRefused === true
      ? `The conversation was given to "${this.to}", and nobody takes it`
      : `The conversation was given to "${this.to}"`
  }
}

/** The names of the agents that take the conversation of the run around; nothing where only the program knows. */
export const Takers: Context.Reference<ReadonlyArray<string> | undefined> = Context.Reference<
  ReadonlyArray<string> | undefined
>("@recourse/core/Agent/Takers", { defaultValue: () => undefined })
