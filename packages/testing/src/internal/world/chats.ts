/** Chats of a world: threads that outlive runs and processes, and the models that speak in them. */
import { Clock, Effect, type Exit, Layer } from "effect"
import { Prompt } from "effect/ai"
import { type Agent, type Approval, Conversation, Runs } from "@recourse/core"
import type * as ScriptedModel from "../../ScriptedModel.ts"

const owner = "user"

/** The store's own clock: processes' wall clocks do not change it. */
const storeClock = (clock: Clock.Clock): Clock.Clock => {
  const millis = () => Math.floor(Runs.monotonicMillis(clock))
  return Object.assign(Object.create(clock) as Clock.Clock, {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis)
  })
}

/** Threads that all processes share. */
export const sharedThreads: Effect.Effect<Layer.Layer<Conversation.Conversations>> = Effect.map(
  Effect.provide(Conversation.Conversations, Conversation.layerMemory),
  (threads) => {
    const inStoreTime = Object.entries(threads).map(([name, operation]) =>
      [
        name,
        (...options: ReadonlyArray<unknown>) =>
          Effect.clockWith((clock) =>
            Effect.provideService(
              (operation as (...options: ReadonlyArray<unknown>) => Effect.Effect<unknown>)(...options),
              Clock.Clock,
              storeClock(clock)
            )
          )
      ] as const
    )
    return Layer.succeed(
      Conversation.Conversations,
      Object.fromEntries(inStoreTime) as unknown as Conversation.Conversations["Service"]
    )
  }
)

type Chatting<Out, E, R> = Agent.Agent<Prompt.Prompt, Out, E, R>

/** A message to a thread. */
export const say = <Out, E, R>(agent: Chatting<Out, E, R>, thread: string, message: Prompt.RawInput) =>
  Effect.flatMap(
    Conversation.send(agent, { owner, thread, message }),
    ({ exit }): Exit.Exit<Out, E | Conversation.WriteError> => exit
  )

/** Decisions about waiting calls of a thread. */
export const decide = <Out, E, R>(
  agent: Agent.Resumable<Prompt.Prompt, Out, E, R, R> & { readonly name: string },
  thread: string,
  decisions: ReadonlyArray<Approval.Decision>
) =>
  Effect.flatMap(
    Conversation.resume(agent, { owner, thread, decisions }),
    ({ exit }): Exit.Exit<Approval.Outcome<Out>, unknown> => exit
  )

/** The conversation from the last message on: a scripted model plays its turns to each message. */
const sinceLastMessage = (prompt: Prompt.Prompt): Prompt.Prompt => {
  const last = prompt.content.findLastIndex(({ role }) => role === "user")
  return last < 0 ? prompt : Prompt.fromMessages(prompt.content.slice(last))
}

/** A model in a thread: its turns begin with each message, and its calls have ids of their own in all of the thread. */
export const inThread = (behaviour: ScriptedModel.Behaviour, process: number): ScriptedModel.Behaviour => {
  const named = (turn: ScriptedModel.Turn, index: number): ScriptedModel.Turn => {
    switch (turn._tag) {
      case "Answer":
        return {
          ...turn,
          calls: turn.calls?.map((call, nth) => ({ id: `call_${process}_${index}_${nth}`, ...call }))
        }
      case "Delay":
        return { ...turn, turn: named(turn.turn, index) }
      case "Cut":
        return { ...turn, answer: named(turn.answer, index) as ScriptedModel.Answer }
      default:
        return turn
    }
  }
  return (request, index) => named(behaviour({ ...request, prompt: sinceLastMessage(request.prompt) }, index), index)
}
