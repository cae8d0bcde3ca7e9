import { Cause, Console, Effect, Exit, Logger } from "effect"
import { inspect } from "node:util"

/** Everything that ordinary logging prints of an error: loggers of effect, the console, JSON, inspection with all that is hidden. */
export const printsOf = (error: unknown): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const write = (...values: ReadonlyArray<unknown>) => {
      lines.push(...values.map((value) => typeof value === "string" ? value : inspect(value, { depth: 20 })))
    }
    const capturing = Object.assign(Object.create(console) as Console.Console, {
      log: write,
      error: write,
      warn: write,
      info: write,
      debug: write,
      group: write,
      groupCollapsed: write,
      groupEnd: () => {}
    })
    yield* Effect.logError(error).pipe(
      Effect.andThen(Effect.logError("failed", error, Cause.fail(error))),
      Effect.annotateLogs({ error }),
      Effect.provide(
        Logger.layer([
          Logger.consolePretty({ mode: "tty" }),
          Logger.consoleLogFmt,
          Logger.consoleStructured,
          Logger.consoleJson,
          Logger.defaultLogger
        ])
      ),
      Effect.provideService(Console.Console, capturing)
    )
    if (lines.length < 8) throw new Error(`The loggers wrote ${lines.length} lines`)
    return [
      ...lines,
      String(error),
      error instanceof Error ? error.stack ?? "" : "",
      JSON.stringify(error),
      JSON.stringify(Exit.fail(error)),
      JSON.stringify(Cause.fail(error)),
      Cause.pretty(Cause.fail(error)),
      inspect(error, { depth: 30 }),
      inspect(error, { depth: 30, showHidden: true, getters: true }),
      inspect(Cause.fail(error), { depth: 30 })
    ]
  })
