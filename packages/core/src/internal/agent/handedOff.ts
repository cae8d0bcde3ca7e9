/** Handed off: the failure by which an agent gives a conversation away. */
import * as Schema from "effect/Schema"

/** The model gave the conversation to another agent. The error of the tools that {@link handoffTo} makes. */
export class HandedOff extends Schema.TaggedError<HandedOff>()("HandedOff", {
  to: Schema.String,
  /** What the model says that the other agent has to know. */
  note: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    return `The conversation was given to "${this.to}"`
  }
}
