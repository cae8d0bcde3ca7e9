/** Replay player: answers in the place of a model and of tools, from a recording. */
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, type Response } from "effect/ai"
import type { AgentEvent, Tool, ToolInterceptor } from "@recourse/core"
import { InjectedFailure } from "../faults/spoil.ts"
import type { Recording } from "./recording.ts"
import { isSame, requestText } from "./requestText.ts"
import { type Failures, revive } from "./storedErrors.ts"

/**
 * Options of a replay.
 *
 * @category options
 * @since 0.2.0
 */
export interface ReplayOptions {
  /** The tools of the recorded program: their schemas decode the recorded calls. */
  readonly tools: ReadonlyArray<Tool.Any>
  /** Makes the typed failures of the program, by tag, if they have to be instances of its own classes. */
  readonly failures?: Failures | undefined
}

/** The replay requested an answer that the recording does not contain; the difference has its position. */
class NotRecorded extends Schema.TaggedError<NotRecorded>()("NotRecorded", { what: Schema.String }) {
  override get message(): string {
    return `Not in the recording: ${this.what}`
  }
}

/** A request that is not in the recording, and the recorded call that was to be next. */
interface Unasked {
  readonly request: string
  readonly index: number | undefined
}

/** The player of a recording. */
// oxlint-disable-next-line max-lines-per-function -- one player: its cases share the place in the recording
export const player = (recording: Recording, options: ReplayOptions) => {
  const used = new Set<number>()
  const unasked: Array<Unasked> = []

  const intercept: ToolInterceptor.Interceptor = ({ attempt, callId, failure, tool }, execute) =>
    Effect.suspend(() => {
      const index = recording.executions.findIndex((entry, index) =>
        !used.has(index) && entry.tool === tool && entry.callId === callId && entry.attempt === attempt
      )
      const entry = recording.executions[index]
      if (entry === undefined) return Effect.die(new NotRecorded({ what: `${tool} ${callId}, attempt ${attempt}` }))
      used.add(index)
      const { duration, outcome } = entry
      const success = options.tools.find(({ name }) => name === tool)?.success
      const decoded = (value: unknown) =>
        success === undefined
          ? Effect.succeed(value)
          : Effect.orDie(Schema.decodeUnknownEffect(Schema.toCodecJson(success))(value))
      switch (outcome._tag) {
        case "Nested": {
          const again = Effect.delay(execute, duration)
          return outcome.value === undefined ? again : Effect.andThen(again, decoded(outcome.value))
        }
        case "Unfinished":
          return Effect.never
        case "Interrupted":
          return Effect.delay(Effect.interrupt, duration)
        case "Misfit":
          return Effect.delay(Effect.succeed(Symbol("recorded")), duration)
        case "Died":
          return Effect.delay(Effect.die(new Error(outcome.defect)), duration)
        case "Failed":
          return Effect.delay(Effect.flatMap(revive(outcome.error, options, failure), Effect.fail), duration)
        case "Value":
          return Effect.delay(outcome.encoded ? decoded(outcome.value) : Effect.succeed(outcome.value), duration)
      }
    })

  // The event of each compensated write has its outcome.
  const compensated = recording.events.filter((event) =>
    event._tag === "ToolCompensated" &&
    (event.outcome === "undone" || event.because === "failed" || event.because === "timeout")
  ) as Array<Extract<AgentEvent.AgentEvent, { readonly _tag: "ToolCompensated" }>>
  const compensate = ({ callId, tool }: ToolInterceptor.Compensation): Effect.Effect<unknown, unknown> =>
    Effect.suspend(() => {
      const index = compensated.findIndex((event) => event.tool === tool && event.callId === callId)
      const [event] = index < 0 ? [] : compensated.splice(index, 1)
      if (event === undefined) return Effect.die(new NotRecorded({ what: `undoing ${tool} ${callId}` }))
      if (event.outcome === "undone") return Effect.void
      switch (event.error) {
        case undefined:
          return Effect.never
        case "Defect":
          return Effect.die(new Error("recorded"))
        case "Interrupted":
          return Effect.interrupt
        case "Error":
          return Effect.fail<unknown>(new Error("recorded"))
        default:
          return Effect.fail(new InjectedFailure({ _tag: event.error }, undefined))
      }
    })

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
  return { compensate, intercept, left, model, unasked }
}
