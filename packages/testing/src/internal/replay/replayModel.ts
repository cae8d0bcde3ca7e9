/** Replay of a model: its recorded answers, each for the request that it answered. */
import { Effect, Stream } from "effect"
import { LanguageModel, type Response } from "effect/ai"
import { NotRecorded } from "./notRecorded.ts"
import type { Recording } from "./recording.ts"
import { isSame, requestText } from "./requestText.ts"

/** A request that is not in the recording, and the recorded call that was to be next. */
interface Unasked {
  readonly request: string
  readonly index: number | undefined
}

/** Makes a model with the recorded answers; `left` and `unasked` are the calls and requests without a counterpart. */
export const replayModel = (recording: Recording) => {
  const unasked: Array<Unasked> = []
  // Parallel calls may come in another order, so the request is looked up first.
  const left = recording.modelCalls.map((_, index) => index)
  const next = (prompt: unknown) =>
    Effect.suspend(() => {
      const request = requestText(prompt)
      // A recording made of events has no requests.
      const same = left.findIndex((index) => {
        const recorded = recording.modelCalls[index]!.request
        return recorded === "" || isSame(recorded, request)
      })
      const [index] = left.splice(same < 0 ? 0 : same, 1)
      if (same < 0) unasked.push({ request, index })
      const call = index === undefined ? undefined : recording.modelCalls[index]
      return call === undefined
        ? Effect.die(new NotRecorded({ what: "another model call" }))
        : Effect.succeed(call)
    })

  const model = LanguageModel.make({
    generateText: ({ prompt }) =>
      Effect.flatMap(next(prompt), ({ duration, outcome }) => {
        switch (outcome._tag) {
          case "Unfinished":
            return Effect.never
          case "Failed":
            return Effect.delay(Effect.fail(outcome.error), duration)
          case "Parts":
            return Effect.delay(Effect.succeed(outcome.parts as Array<Response.PartEncoded>), duration)
        }
      }),
    streamText: ({ prompt }) =>
      Stream.unwrap(Effect.map(next(prompt), ({ duration, outcome }) => {
        switch (outcome._tag) {
          case "Unfinished":
            return Stream.never
          case "Failed":
            return Stream.fromEffect(Effect.delay(Effect.fail(outcome.error), duration))
          case "Parts": {
            const parts = Stream.concat(
              Stream.fromEffectDrain(Effect.sleep(duration)),
              Stream.fromIterable(outcome.parts as ReadonlyArray<Response.StreamPartEncoded>)
            )
            return outcome.error === undefined ? parts : Stream.concat(parts, Stream.fail(outcome.error))
          }
        }
      }))
  })
  return { left, model, unasked }
}
