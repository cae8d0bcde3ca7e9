/** Handling of a missing argument: it is taken from the conversation, or the assistant asks the user. */
import { Context, Effect, Schema } from "effect"
import type { Prompt } from "effect/ai"
import { Agent, Recovery, type ToolError } from "@recourse/core"
import { Order, orderIdsIn } from "./orders.ts"

/** The conversation of the running turn: users' messages, and successful calls. */
export class Conversation extends Context.Service<Conversation, Prompt.Prompt>()("strict-chat/Conversation") {}

/** An argument is missing, and the conversation does not have it: the user must be asked. */
export class MissingInformation extends Schema.TaggedError<MissingInformation>()("MissingInformation", {
  tool: Schema.String,
  /** Name of the argument, never a value. */
  field: Schema.String
}) {}

/** The numbers of orders in the user's last message. */
const said = ({ content }: Prompt.Prompt): ReadonlyArray<string> =>
  (content.findLast((message) => message.role === "user")?.content ?? [])
    .flatMap((part) => part.type === "text" ? orderIdsIn(part.text) : [])

/** The numbers of orders that were looked up in the turns before. */
const lookedUp = ({ content }: Prompt.Prompt): ReadonlyArray<string> =>
  content.flatMap((message) => message.role === "tool" ? message.content : [])
    .flatMap((part) => part.type === "tool-result" && isOrder(part.result) ? [part.result.orderId] : [])

const isOrder = Schema.is(Order)

const Arguments = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/**
 * Puts the number of an order into a call that has none, if only one is possible: the one that the user has just named.
 * If none was named and the call only reads, it is the one of the conversation. It invents no number, and its numbers
 * are checked like the model's own arguments.
 */
export const fromConversation = Agent.fromFunction(
  "conversation",
  ({ arguments: text, effects, error }: Recovery.FixRequest<ToolError.InvalidArgs>) =>
    Effect.gen(function*() {
      if (!error.issues.some(({ path, problem }) => problem === "missing" && path[0] === "orderId")) {
        return Recovery.declined
      }
      const conversation = yield* Conversation
      const named = said(conversation)
      const candidates = named.length === 0 && effects === "read" ? new Set(lookedUp(conversation)) : new Set(named)
      const [orderId] = candidates
      if (candidates.size !== 1) return Recovery.declined
      const given = yield* Effect.orDie(Schema.decodeEffect(Arguments)(text))
      return JSON.stringify({ ...given, orderId })
    })
)

/** A call that lacks an argument ends the turn; other arguments that do not fit are for the model to correct. */
export const askUser = (
  error: ToolError.InvalidArgs
): Effect.Effect<never, ToolError.InvalidArgs | MissingInformation> => {
  const missing = error.issues.find(({ path, problem }) => problem === "missing" && path.length > 0)
  return missing === undefined
    ? Effect.fail(error)
    : new MissingInformation({ tool: error.tool, field: String(missing.path[0]) })
}
