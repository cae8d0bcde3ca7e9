/**
 * The command `recourse-replay recording.json --agent ./agent.ts`: runs the agent of the subject that a module exports
 * against a recording, and prints the first difference.
 *
 * It exits with 0 if there is none, with 1 if there is one, and with 2 if the recording could not be replayed.
 */
import { Effect, FileSystem, Option, Runtime, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { agentFlag, CannotRun, load, write } from "./internal/command/command.ts"
import * as Replay from "./Replay.ts"
import * as SideEffects from "./SideEffects.ts"

export { CannotRun } from "./internal/command/command.ts"

/** The replay went another way than the recording, which has been said already. */
export class Differs extends Schema.TaggedError<Differs>()("Differs", {
  kind: Schema.Literals(["event", "request"]),
  index: Schema.Int
}) {
  override readonly [Runtime.errorReported] = false
  override readonly [Runtime.errorExitCode] = 1
}

const config = {
  recording: Argument.File("recording", { mustExist: true }).pipe(
    Argument.withDescription("The recording: what Replay.stringify makes of a recorded run")
  ),
  agent: agentFlag
}

/** The command, for `Command.run` of `effect/cli`. */
export const command = Command.make("recourse-replay", config, ({ agent, recording: file }) =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const subject = yield* load(agent)
    const recording = yield* files.readFileString(file).pipe(
      Effect.mapError((error) => new CannotRun({ problem: `${file}: ${error.message}` })),
      Effect.flatMap((json) =>
        Effect.mapError(
          Replay.parse(json),
          (error) => new CannotRun({ problem: `${file} is not a recording: ${error.message}` })
        )
      )
    )
    const { difference } = yield* Replay.run(subject.agent, recording, subject).pipe(Effect.provide(SideEffects.layer))
    if (Option.isSome(difference)) {
      const { index, kind } = difference.value
      yield* write("stdout", `${Replay.print(difference.value)}\n`)
      return yield* new Differs({ kind, index })
    }
    const { events, modelCalls } = recording
    yield* write("stdout", `As recorded: ${modelCalls.length} model calls, ${events.length} events\n`)
  })).pipe(
    Command.withDescription("Runs an agent against a recording, in virtual time, without models and tools")
  )
