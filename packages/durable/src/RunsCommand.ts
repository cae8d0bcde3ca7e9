/**
 * The command `recourse-runs check ./runs.ts`: says which waiting runs the agents of a program can resume, before it is deployed.
 *
 * It exits with 0 if all can be resumed, with 1 if one cannot, and with 2 if the runs cannot be checked.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { check, isRunCheck, type Report, type RunCheck } from "./RunCheck.ts"

/**
 * Some runs are lost, which the command has printed.
 *
 * @category errors
 * @since 0.2.0
 */
export class RunsLost extends Schema.TaggedError<RunsLost>()("RunsLost", { lost: Schema.Int }) {
  override readonly [Runtime.errorReported] = false
  override readonly [Runtime.errorExitCode] = 1
}

/**
 * The runs cannot be checked: `problem` has the necessary change.
 *
 * @category errors
 * @since 0.2.0
 */
export class CannotCheck extends Schema.TaggedError<CannotCheck>()("CannotCheck", { problem: Schema.String }) {
  override readonly [Runtime.errorReported] = false
  override readonly [Runtime.errorExitCode] = 2
  override get [CliError.userMessage](): string {
    return this.problem
  }
  override get message(): string {
    return this.problem
  }
}

const load = (file: string): Effect.Effect<RunCheck, CannotCheck, Path.Path> =>
  Effect.gen(function*() {
    const path = yield* Path.Path
    const url = yield* path.toFileUrl(path.resolve(file)).pipe(
      Effect.mapError(() => new CannotCheck({ problem: `${file} is not a path` }))
    )
    const module = yield* Effect.tryPromise({
      try: () => import(url.href) as Promise<Readonly<Record<string, unknown>>>,
      catch: (cause) => new CannotCheck({ problem: `${file} cannot be imported: ${String(cause)}` })
    })
    return Object.values(module).find(isRunCheck) ?? (yield* new CannotCheck({
      problem: `${file} exports no check: export a RunCheck.make of @recourse/durable`
    }))
  })

const textOf = ({ resumable, runs }: Report): string => {
  const lost = runs.filter(({ canResume }) => !canResume)
  const head = `keeps ${resumable} of ${runs.length}`
  return lost.length === 0 ? head : [
    `${head}; ${lost.length === 1 ? "this one is" : `these ${lost.length} are`} lost:`,
    ...lost.map(({ agent, reason, runId }) => `  ${runId} (${agent}): ${reason}`)
  ].join("\n")
}

const config = {
  module: Argument.File("module", { mustExist: true }).pipe(
    Argument.withDescription("The module that exports a RunCheck.make")
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Print the report as JSON, with the tools of each run. Default: no")
  )
}

const checkCommand = Command.make("check", config, ({ json, module }) =>
  Effect.gen(function*() {
    const { agents, layer } = yield* load(module)
    const cannot = (subject: string) => (cause: unknown) =>
      new CannotCheck({ problem: `${subject}: ${cause instanceof Error ? cause.message : String(cause)}` })
    const report = yield* Effect.scoped(Effect.gen(function*() {
      const all = Effect.isEffect(agents)
        ? yield* Effect.mapError(agents, cannot("the agents cannot be made"))
        : agents
      return yield* check(all).pipe(
        Effect.provide(layer),
        Effect.mapError(cannot("the store of the runs cannot be read"))
      )
    }))
    yield* Console.log(json ? JSON.stringify(report) : textOf(report))
    const lost = report.runs.length - report.resumable
    if (lost > 0) return yield* new RunsLost({ lost })
  })).pipe(Command.withDescription("Says which waiting runs the agents of a module can resume"))

/**
 * The command, for `Command.run` of `effect/cli`.
 *
 * @category commands
 * @since 0.2.0
 */
export const command = Command.make("recourse-runs").pipe(
  Command.withDescription("Looks at the durable runs of a store"),
  Command.withSubcommands([checkCommand])
)
