/** Common parts of the tests of this package. */
import { Data, Effect, type Layer, Logger, Schema } from "effect"
import { seeded } from "./seeded.ts"
import { type AgentEvent, AgentEvent as Events, Tool, ToolCall } from "@recourse/core"

export class Down extends Data.TaggedError("Down") {}
export class Gone extends Data.TaggedError("Gone")<{ readonly id: string }> {}

/** Events of the runs below `layer`, in their order. */
export const collect = (): {
  readonly events: Array<AgentEvent.AgentEvent>
  readonly tags: () => ReadonlyArray<string>
  readonly layer: Layer.Layer<never>
} => {
  const events: Array<AgentEvent.AgentEvent> = []
  return {
    events,
    tags: () => events.map((event) => event._tag),
    layer: Events.listen((event) => Effect.sync(() => events.push(event)))
  }
}

/** A tool that fails a number of times and then answers, and the number of times it ran. */
export const flaky = <Eff extends Tool.Effects | undefined>(failures: number, effects: Eff) => {
  const state = { runs: 0 }
  const tool = Tool.make("flaky", {
    parameters: Schema.Struct({ n: Schema.Number }),
    success: Schema.Number,
    effects,
    execute: ({ n }): Effect.Effect<number, Down> =>
      Effect.suspend(() => ++state.runs <= failures ? Effect.fail(new Down()) : Effect.succeed(n))
  })
  return { tool, state }
}

/** Runs a call by hand. */
export const by = (args: unknown, id = "c1") => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, ToolCall.ToolCall, ToolCall.make({ id, arguments: args }))

/** The tool results in the last message of a prompt, in the model's form. */
export const lastResults = (prompt: {
  readonly content: ReadonlyArray<{ readonly role: string; readonly content: unknown }>
}): ReadonlyArray<{ readonly id: string; readonly isFailure: boolean; readonly result: unknown }> => {
  const message = prompt.content.at(-1)
  return message?.role === "tool" ? message.content as never : []
}

/** Logs below `layer`. */
export const collectLogs = (): { readonly messages: Array<string>; readonly layer: Layer.Layer<never> } => {
  const messages: Array<string> = []
  return { messages, layer: Logger.layer([Logger.make(({ message }) => messages.push(String(message)))]) }
}

/** Numbers from 0 to 1 that a seed gives. */
export const random = (seed: number): () => number => {
  const next = seeded(seed)
  return () => next() / 2 ** 32
}
