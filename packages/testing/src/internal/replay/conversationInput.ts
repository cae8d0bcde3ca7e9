/** Conversations as inputs: they are JSON in a recording that was stored, or made of a log. */
import { Option, Predicate } from "effect"
import { Prompt } from "effect/ai"
import { Conversation } from "@recourse/core"

const isMessage = (value: unknown): boolean =>
  Predicate.hasProperty(value, "role") && Predicate.hasProperty(value, "content")

/** The conversation in an input, or in its JSON; `undefined` for another input. */
const conversationOf = (input: unknown): Prompt.Prompt | undefined => {
  if (Prompt.isPrompt(input)) return input
  return Predicate.hasProperty(input, "content") && Array.isArray(input.content) && input.content.every(isMessage)
    ? Option.getOrUndefined(Conversation.decode(input))
    : undefined
}

/** The input that an agent is run with. */
export const inputOf = (input: unknown): unknown => conversationOf(input) ?? input

/** The input as it is compared: one form for a conversation and its JSON. */
export const comparableInput = (input: unknown): unknown => {
  const conversation = conversationOf(input)
  return conversation === undefined ? input : Conversation.encode(conversation)
}
