/**
 * The command `recourse-faults suite.json --agent ./agent.ts`: runs a suite on the subject that a module exports, in
 * `default` or `subject`.
 *
 * It exits with 0 if all cases passed, with 1 if one missed, and with 2 if the suite could not be run.
 */
import { Effect, FileSystem, Option, Runtime, Schema, Stdio, Terminal } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { json as toJson, junit as toJUnit, table } from "./FaultReport.ts"
import * as FaultSuite from "./FaultSuite.ts"
import { agentFlag, CannotRun, load, write } from "./internal/command/command.ts"

export { CannotRun } from "./internal/command/command.ts"

/**
 * Cases missed. The report has said so already.
 *
 * @category errors
 * @since 0.2.0
 */
export class Missed extends Schema.TaggedError<Missed>()("Missed", { cases: Schema.Array(Schema.String) }) {
  override readonly [Runtime.errorReported] = false
  override readonly [Runtime.errorExitCode] = 1
}

const bar = (done: number, total: number, missed: number): string => {
  const width = 24
  const full = total === 0 ? width : Math.round(done / total * width)
  return `\r${"█".repeat(full)}${"░".repeat(width - full)} ${done}/${total}${missed > 0 ? ` ${missed} missed` : ""}`
}

const clearLine = "\r\u001b[2K"

/** The columns of the terminal that is written to, if it is one. */
const terminalWidth = Effect.gen(function*() {
  const stdio = yield* Stdio.Stdio
  if (!(yield* stdio.stdoutIsTerminal)) return undefined
  const columns = yield* (yield* Terminal.Terminal).columns
  return columns > 0 ? columns : undefined
})

const config = {
  suite: Argument.File("suite", { mustExist: true }).pipe(
    Argument.withDescription("The suite: a JSON file with \"suite\" and \"cases\"")
  ),
  agent: agentFlag,
  format: Flag.Literals("format", ["table", "junit", "json"]).pipe(
    Flag.withDescription("What is printed"),
    Flag.withDefault("table" as const)
  ),
  junit: Flag.Path("junit").pipe(Flag.optional, Flag.withDescription("Also write JUnit XML to this file")),
  json: Flag.Path("json").pipe(Flag.optional, Flag.withDescription("Also write JSON to this file"))
}

/**
 * The command, for `Command.run` of `effect/cli`.
 *
 * @category commands
 * @since 0.2.0
 */
export const command = Command.make(
  "recourse-faults",
  config,
  ({ agent, format, json, junit, suite: file }) =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const stdio = yield* Stdio.Stdio
      const subject = yield* load(agent)
      const suite = yield* files.readFileString(file).pipe(
        Effect.flatMap(FaultSuite.parse),
        Effect.mapError((error) => new CannotRun({ problem: `${file}: ${error.message}` }))
      )
      const width = yield* terminalWidth
      const showsProgress = yield* stdio.stderrIsTerminal
      let missed = 0
      const report = yield* FaultSuite.run(subject, suite, {
        onCase: ({ passed }, done, total) => {
          if (!passed) missed++
          return showsProgress
            ? Effect.provideService(write("stderr", bar(done, total, missed)), Stdio.Stdio, stdio)
            : Effect.void
        }
      }).pipe(Effect.mapError((error) => new CannotRun({ problem: `${file}: ${error.message}` })))
      if (showsProgress) yield* write("stderr", clearLine)

      const save = (to: Option.Option<string>, text: string) =>
        Option.match(to, {
          onNone: () => Effect.void,
          onSome: (to) =>
            Effect.mapError(
              files.writeFileString(to, text),
              (error) => new CannotRun({ problem: `${to}: ${error.message}` })
            )
        })
      yield* save(junit, toJUnit(report))
      yield* save(json, toJson(report))
      const formats = {
        table: () => table(report, { width }),
        junit: () => toJUnit(report),
        json: () => toJson(report)
      }
      yield* write("stdout", `${formats[format]()}\n`)
      if (!report.passed) {
        return yield* new Missed({ cases: report.cases.flatMap(({ id, passed }) => passed ? [] : [id]) })
      }
    })
).pipe(
  Command.withDescription("Runs a suite of faults on an agent, in virtual time and without a network")
)
