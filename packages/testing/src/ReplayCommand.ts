/**
 * The command `recourse-replay recording.json --agent ./agent.ts`: runs the agent of the subject that a module exports
 * against a recording, and prints the first difference.
 *
 * It exits with 0 if there is none, with 1 if there is one, and with 2 if the recording could not be replayed.
 */
import { Effect, FileSystem, Option, Runtime, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { AgentEvent } from "@recourse/core"
import { agentFlag, CannotRun, load, write } from "./internal/command/command.ts"
import * as Replay from "./Replay.ts"
import { layer as subjectLayer } from "./Subject.ts"

export { CannotRun } from "./internal/command/command.ts"

/**
 * The replay went another way than the recording, which has been said already.
 *
 * @category errors
 * @since 0.2.0
 */
export class Differs extends Schema.TaggedError<Differs>()("Differs", {
  kind: Schema.Literals(["event", "request"]),
  index: Schema.Int
}) {
  override readonly [Runtime.errorReported] = false
  override readonly [Runtime.errorExitCode] = 1
}

const config = {
  recording: Argument.File("recording", { mustExist: true }).pipe(
    Argument.withDescription(
      "The output of Replay.stringify for a recorded run, or a log of events, one JSON object a line"
    )
  ),
  agent: agentFlag,
  run: Flag.String("run").pipe(
    Flag.optional,
    Flag.withDescription("Id of the run, if a log of events has several")
  ),
  save: Flag.File("save").pipe(
    Flag.optional,
    Flag.withDescription(
      "File for the redacted recording: one made of a log of events is a test from then on"
    )
  ),
  fields: Flag.String("field").pipe(
    Flag.atLeast(0),
    Flag.withDescription("A name whose texts are secret, as in --field email --field customer.iban: they are not saved")
  ),
  raw: Flag.Boolean("raw").pipe(Flag.withDefault(false), Flag.withDescription("Save the recording with its secrets"))
}

/** A recording of the one run in a log, or of the one that is named. */
const ofLog = (
  file: string,
  events: ReadonlyArray<AgentEvent.AgentEvent>,
  runId: string | undefined
): Effect.Effect<Replay.Recording, CannotRun> => {
  const runs = [...new Set(events.map((event) => event.runId))]
  return runs.length === 1 || (runId !== undefined && runs.includes(runId))
    ? Effect.succeed(Replay.fromEvents(events, { runId: runId ?? runs[0] }))
    : new CannotRun({
      problem: runId === undefined
        ? `${file} is a log of ${runs.length} runs: name one by --run. They are ${runs.slice(0, 20).join(", ")}`
        : `${file} holds no run ${runId}`
    })
}

/**
 * The command, for `Command.run` of `effect/cli`.
 *
 * @category commands
 * @since 0.2.0
 */
export const command = Command.make(
  "recourse-replay",
  config,
  ({ agent, fields, raw, recording: file, run, save }) =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const subject = yield* load(agent)
      const read = yield* files.readFileString(file).pipe(
        Effect.mapError((error) => new CannotRun({ problem: `${file}: ${error.message}` })),
        Effect.flatMap((text) =>
          Effect.catch(Replay.parse(text), (error) =>
            // A log of events is one JSON object a line, each with the tag of an event.
            Effect.matchEffect(Replay.parseLog(text), {
              onFailure: () =>
                new CannotRun({ problem: `${file} is neither a recording nor a log of events: ${error.message}` }),
              onSuccess: (events) => ofLog(file, events, Option.getOrUndefined(run))
            }))
        )
      )
      // The saved recording is the replayed one.
      const recording = Option.isNone(save) || raw
        ? read
        : yield* Replay.redact(read, { fields, tools: subject.tools })
      if (Option.isSome(save)) {
        const json = yield* Effect.orDie(Replay.stringify(recording))
        yield* Effect.mapError(
          files.writeFileString(save.value, json),
          (error) => new CannotRun({ problem: `${save.value}: ${error.message}` })
        )
      }
      const { difference } = yield* Replay.run(subject.agent, recording, subject).pipe(
        Effect.provide(subjectLayer)
      )
      if (Option.isSome(difference)) {
        const { index, kind } = difference.value
        yield* write("stdout", `${Replay.print(difference.value)}\n`)
        return yield* new Differs({ kind, index })
      }
      const { events, modelCalls } = recording
      yield* write("stdout", `As recorded: ${modelCalls.length} model calls, ${events.length} events\n`)
    })
).pipe(
  Command.withDescription("Runs an agent against a recording, in virtual time, without models and tools")
)
