/** A scripted `LanguageModel`, and the tool's body as an Effect, for the contestants that are made of Effect. */
import { Effect, Stream } from "effect"
import { LanguageModel, type Response, Tool } from "effect/ai"
import type { ModelProvider } from "@recourse/core"
import { type Down, script, type Task, type Turn } from "../Task.ts"

const finish = (turn: Turn): Response.FinishPartEncoded => ({
  type: "finish",
  reason: turn.calls.length > 0 ? "tool-calls" : "stop",
  usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } }
})

const callParts = (turn: Turn): Array<Response.ToolCallPartEncoded> =>
  turn.calls.map((call) => ({
    type: "tool-call",
    id: call.id,
    name: call.name,
    params: Tool.unsafeSecureJsonParse(call.arguments)
  }))

const parts = (turn: Turn): Array<Response.PartEncoded> => [
  ...(turn.text.length === 0 ? [] : [{ type: "text", text: turn.text.join("") }] as const),
  ...callParts(turn),
  finish(turn)
]

const streamParts = (turn: Turn): Array<Response.StreamPartEncoded> => [
  ...(turn.text.length === 0 ? [] : [
    { type: "text-start", id: "t" } as const,
    ...turn.text.map((delta) => ({ type: "text-delta", id: "t", delta }) as const),
    { type: "text-end", id: "t" } as const
  ]),
  ...callParts(turn),
  finish(turn)
]

/** Each turn adds the model's message and one with all results. */
export const scriptedModel = (
  task: Task,
  make: (hooks: ModelProvider.Hooks) => Effect.Effect<LanguageModel.LanguageModel> = LanguageModel.make
): Promise<LanguageModel.LanguageModel> => {
  const ask = script(task, 2, () => 2, (turn) => turn)
  const turnFor = (length: number) =>
    Effect.suspend(() => {
      const turn = ask(length)
      return turn instanceof Promise ? Effect.promise(() => turn) : Effect.succeed(turn)
    })
  return Effect.runPromise(make({
    generateText: ({ prompt }) => Effect.map(turnFor(prompt.content.length), parts),
    streamText: ({ prompt }) =>
      Stream.unwrap(Effect.map(
        turnFor(prompt.content.length),
        // One part at a time, like from a network.
        (turn) => Stream.fromIterable(streamParts(turn), { chunkSize: 1 })
      ))
  }))
}

/** The tool's body; only a body that may fail pays for catching. Its exceptions are tagged, and fail unchanged. */
export const executor = (task: Task): (params: { readonly n: number }) => Effect.Effect<number, Down> =>
  task.onFailure === "none"
    ? ({ n }) => Effect.sync(() => task.execute(n))
    : ({ n }) => Effect.try({ try: () => task.execute(n), catch: (error) => error as Down })
