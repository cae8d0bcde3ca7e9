/**
 * Replay: records a run with the answers of its model and its tools, stores it as JSON, and runs it again against those
 * answers. If the program has changed, the first difference shows.
 *
 * Tools are not executed in a replay, no write is compensated, and time is virtual. An executor that runs an agent or
 * calls a tool is run again, because its inner events are part of the run: its other effects are repeated. Not
 * compared: ids of runs, times and delays, progress and preliminary results of executors.
 */
import { Effect, type Exit, Option } from "effect"
import { LanguageModel } from "effect/ai"
import { type Agent, type AgentEvent, Approval, ToolInterceptor } from "@recourse/core"
import { Approver, run as runToEnd } from "./internal/faults/approver.ts"
import { inputOf } from "./internal/replay/conversationInput.ts"
import { type Difference, eventDifference } from "./internal/replay/difference.ts"
import type { Recording } from "./internal/replay/recording.ts"
import { replayCompensations } from "./internal/replay/replayCompensations.ts"
import { replayExecutions, type ReplayOptions } from "./internal/replay/replayExecutions.ts"
import { replayModel } from "./internal/replay/replayModel.ts"
import { lastMessage } from "./internal/replay/requestText.ts"
import * as VirtualTime from "./internal/time/virtualTime.ts"

export { type Difference, print } from "./internal/replay/difference.ts"
export { fromEvents, parseLog } from "./internal/replay/eventLog.ts"
export type { MakePlaceholder } from "./internal/replay/placeholders.ts"
export { record, type RecordOptions } from "./internal/replay/recorder.ts"
export { Execution, ModelCall, parse, Pause, Recording, stringify, version } from "./internal/replay/recording.ts"
export { redact, type RedactOptions } from "./internal/replay/redact.ts"
export type { ReplayOptions } from "./internal/replay/replayExecutions.ts"
export type { Failures } from "./internal/replay/storedErrors.ts"

/**
 * The outcome of a replay.
 *
 * @category models
 * @since 0.2.0
 */
export interface Replayed<out Out, out E> {
  readonly exit: Exit.Exit<Out, E>
  readonly difference: Option.Option<Difference>
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
}

/** A person with the recorded decisions and delays; `undefined` once the recording has ended. */
const decidesAs = (pauses: NonNullable<Recording["pauses"]>): Approver["Service"] => {
  let nth = 0
  return {
    decide: () =>
      Effect.suspend(() => {
        const pause = pauses[nth++]
        return pause === undefined ? Effect.succeed([]) : Effect.delay(Effect.succeed(pause.decisions), pause.waited)
      })
  }
}

/**
 * Runs an agent again against a recording. Services of its tools are needed by its type and not used. The requests to
 * the model are compared first, then the events.
 *
 * **Example** (The same program, and one that retries less)
 *
 * ```ts
 * import { Effect, Option, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { Replay, ScriptedModel } from "@recourse/testing"
 *
 * let calls = 0
 * const Flaky = Tool.make("flaky", {
 *   success: Schema.String,
 *   effects: "read",
 *   execute: () => Effect.suspend(() => ++calls === 1 ? Effect.fail("down" as const) : Effect.succeed("up"))
 * })
 * const agent = (times: number) =>
 *   Agent.make("monitor", {
 *     tools: [Flaky],
 *     defaults: { onError: Recovery.policy({ ExecutionError: { retry: { times }, otherwise: "escalate" } }) }
 *   })
 *
 * const { recording } = await Effect.runPromise(
 *   Replay.record(agent(1), "Is it up?", { tools: [Flaky] }).pipe(
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("flaky", {}), ScriptedModel.text("yes")]))
 *   )
 * )
 * const same = await Effect.runPromise(Replay.run(agent(1), recording, { tools: [Flaky] }))
 * const other = await Effect.runPromise(Replay.run(agent(0), recording, { tools: [Flaky] }))
 *
 * same.difference // => Option.none()
 * Option.map(other.difference, ({ index, kind }) => [kind, index]) // => Option.some(["request", 1])
 * calls // => 2
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const run = <In, Out, E, R>(
  agent: Agent.Agent<In, Out, E, R>,
  recording: Recording,
  options: ReplayOptions
): Effect.Effect<Replayed<Out, E>, never, Exclude<R, LanguageModel.LanguageModel>> =>
  Effect.gen(function*() {
    const { left, model, unasked } = replayModel(recording)
    const events: Array<AgentEvent.AgentEvent> = []
    const mode = {
      streaming: recording.streaming,
      sink: {
        emit: (event: AgentEvent.AgentEvent) => {
          events.push(event)
          return Effect.void
        }
      }
    }
    const execution = (recording.pauses === undefined
      ? agent.runIn(inputOf(recording.input) as In, mode)
      : Effect.provideService(
        runToEnd(agent, inputOf(recording.input) as In, mode) as Effect.Effect<Out, E, R | Approver>,
        Approver,
        decidesAs(recording.pauses)
      ) as Effect.Effect<Out, E, R>).pipe(
        Effect.provideService(LanguageModel.LanguageModel, yield* model),
        Effect.provideService(ToolInterceptor.ToolInterceptor, replayExecutions(recording, options)),
        Effect.provideService(ToolInterceptor.CompensationInterceptor, replayCompensations(recording)),
        // Of its own: snapshots have the ids of the run that was recorded.
        Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
      )
    const { exit } = yield* VirtualTime.run(
      execution as Effect.Effect<Out, E, Exclude<R, LanguageModel.LanguageModel>>
    )
    const sent = (index: number | undefined) =>
      index === undefined ? undefined : lastMessage(recording.modelCalls[index]!.request)
    const first = unasked[0]
    const difference = first !== undefined
      ? Option.some<Difference>({
        kind: "request",
        index: first.index ?? recording.modelCalls.length,
        recorded: sent(first.index),
        replayed: lastMessage(first.request)
      })
      : Option.orElse(eventDifference(recording.events, events), () =>
        left[0] === undefined
          ? Option.none()
          : Option.some<Difference>({ kind: "request", index: left[0], recorded: sent(left[0]), replayed: undefined }))
    return { exit, difference, events }
  })
