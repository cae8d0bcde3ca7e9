/**
 * A chat that would rather stop than guess. A turn ends with an answer of the model, a question to the user, or a fixed
 * sentence, and the next turn starts from known facts.
 */
import { Cause, Effect, Exit, Schedule } from "effect"
import { Prompt } from "effect/ai"
import { Agent, History, ModelError } from "@recourse/core"
import { Conversation } from "./missing.ts"
import { sentence } from "./texts.ts"
import { OrderStatus, Refund } from "./tools.ts"

export const budget = { turns: 10, toolCalls: 20, allFailureRounds: 3, duration: "2 minutes" } as const

/** The agent of one turn. It takes the conversation, and returns the next answer. */
export const agent = Agent.make("support", {
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  tools: [OrderStatus, Refund],
  // One after the other: a call that ends the turn then interrupts no other one with an unknown outcome.
  concurrency: 1,
  onModelError: (error) =>
    error.isRetryable
      ? ModelError.retry({ times: 2, schedule: Schedule.exponential("500 millis") })
      : ModelError.rethrow,
  budget
})

/** A conversation without messages. */
export const begin: Prompt.Prompt = Prompt.make([{
  role: "system",
  content: "You help customers with their orders. Look orders up; do not guess."
}])

/** The program's message instead of the model's. */
const inPlace = (text: string): Prompt.Message =>
  Prompt.assistantMessage({ content: [Prompt.textPart({ text, options: { recourse: { synthetic: true } } })] })

/**
 * One turn: the user's message, the answer, and the conversation to continue with. At any end of the turn, that has the
 * user's message, the answer and the successful calls. `exit` is the end.
 */
export const say = (conversation: Prompt.Prompt, text: string) =>
  Effect.gen(function*() {
    const asked = Prompt.concat(conversation, text)
    const { exit, runId, transcript } = yield* Effect.provideService(agent.report(asked), Conversation, asked)
    if (Exit.isSuccess(exit)) {
      return { told: exit.value, conversation: History.withoutFailedCalls(transcript), exit }
    }
    const told = yield* sentence(Cause.squash(exit.cause), runId)
    const ended = Prompt.fromMessages([...transcript.content, inPlace(told)])
    return { told, conversation: History.withoutFailedCalls(ended), exit }
  })
