/** Command line: common parts of both commands. */
import { Effect, Path, Runtime, Schema, Stdio, Stream } from "effect"
import { CliError, Flag } from "effect/cli"
import { isSubject, type Subject } from "../../Subject.ts"

/**
 * The command failed: `problem` has the necessary change.
 *
 * @category errors
 * @since 0.2.0
 */
export class CannotRun extends Schema.TaggedError<CannotRun>()("CannotRun", { problem: Schema.String }) {
  override readonly [Runtime.errorReported] = false
  override readonly [Runtime.errorExitCode] = 2
  override get [CliError.userMessage](): string {
    return this.problem
  }
  override get message(): string {
    return this.problem
  }
}

export const agentFlag = Flag.File("agent", { mustExist: true }).pipe(
  Flag.withAlias("a"),
  Flag.withDescription("The module that exports the subject, a Subject.make")
)

/** The subject that a module exports. */
export const load = (file: string): Effect.Effect<Subject<unknown, unknown, unknown>, CannotRun, Path.Path> =>
  Effect.gen(function*() {
    const path = yield* Path.Path
    const url = yield* path.toFileUrl(path.resolve(file)).pipe(
      Effect.mapError(() => new CannotRun({ problem: `${file} is not a path` }))
    )
    const module = yield* Effect.tryPromise({
      try: () => import(url.href) as Promise<Readonly<Record<string, unknown>>>,
      catch: (cause) => new CannotRun({ problem: `${file} cannot be imported: ${String(cause)}` })
    })
    const subject = [module["default"], module["subject"]].find(isSubject)
    return subject ?? (yield* new CannotRun({
      problem: `${file} exports no subject: export a Subject.make, as "default" or as "subject"`
    }))
  })

export const write = (to: "stdout" | "stderr", text: string) =>
  Effect.flatMap(Stdio.Stdio, (stdio) => Effect.orDie(Stream.run(Stream.make(text), stdio[to]({ endOnDone: false }))))
