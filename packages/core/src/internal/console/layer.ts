/** Console of a run: prints events as they happen, for whoever watches a program. */
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import { listen } from "../../AgentEventListener.ts"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import { make as makeRedactor, secrets } from "../../Redaction.ts"
import { aBoolean, aLimit, aPositiveCount, checkOptions, type Kind } from "../foundation/options/optionCheck.ts"
import { cutText } from "../foundation/json/jsonShape.ts"
import { breakText, coloured, columnsOf, harmless } from "./layout.ts"
import { lineOf } from "./line.ts"

/**
 * Options of printed events.
 *
 * @category options
 * @since 0.2.0
 */
export interface ConsoleOptions {
  /**
   * True if lines have colours. Default: effect's `TerminalCapabilities`: on a terminal, unless `NO_COLOR` is set, and
   * if `FORCE_COLOR` is set.
   */
  readonly colors?: boolean | undefined
  /**
   * Number of columns of a line. Longer ones continue below, indented. Default: the terminal's; without one, lines are
   * not broken.
   */
  readonly width?: number | undefined
  /** Number of printed characters of a text: of an input, of arguments, of a result, of an answer. Default: 300. */
  readonly maxLength?: number | undefined
}

const consoleKinds: Readonly<Record<keyof ConsoleOptions, Kind>> = {
  colors: aBoolean,
  width: aPositiveCount,
  maxLength: aLimit
}

/** Number of characters that are searched for secrets, for texts of any length. */
const maxRead = 20_000

const redactor = makeRedactor({ rules: secrets })

interface Process {
  readonly stdout?: { readonly columns?: number }
}

const terminalWidth = (): number => (globalThis as { readonly process?: Process }).process?.stdout?.columns ?? Infinity

/** State of a run during its execution. */
class Watched {
  private readonly names = new Map<string, string>()
  private readonly calls = new Map<string, number>()
  readonly start: number
  /** Distinguishes simultaneous runs. */
  readonly number: number

  constructor(start: number, number: number) {
    this.start = start
    this.number = number
  }

  /** A tool's name, numbered from its second call on: ids of calls are long, and have no meaning. */
  nameOf(agentRunId: string, callId: string, tool: string): string {
    const id = JSON.stringify([agentRunId, callId, tool])
    const known = this.names.get(id)
    if (known !== undefined) return known
    const count = (this.calls.get(tool) ?? 0) + 1
    const name = harmless(count === 1 ? tool : `${tool} #${count}`)
    this.calls.set(tool, count)
    this.names.set(id, name)
    return name
  }
}

const isFirstAttempt = (event: AgentEvent): boolean => event._tag === "ToolAttempt" && event.attempt === 1

const makeWriter = (options: ConsoleOptions | undefined) => {
  checkOptions("AgentEvent.layerConsole", options ?? {}, { kinds: consoleKinds, otherNames: {} })
  const { maxLength = 300, width } = options ?? {}
  const runs = new Map<string, Watched>()

  const watched = (event: AgentEvent): Watched => {
    const known = runs.get(event.runId)
    if (known !== undefined) return known
    let number = 1
    for (const run of runs.values()) number = Math.max(number, run.number + 1)
    const run = new Watched(event.at, number)
    runs.set(event.runId, run)
    return run
  }

  return (event: AgentEvent, colors: boolean): string | undefined => {
    const run = watched(event)
    if (event._tag === "RunFinished") runs.delete(event.runId)
    if (isFirstAttempt(event)) return undefined
    const line = lineOf(event, ({ callId, tool }) => run.nameOf(event.agentRunId, callId, tool))
    if (line === undefined) return undefined
    const time = `${String(event.at - run.start).padStart(6)} ms  `
    const agent = harmless(event.path.at(-1) ?? "")
    const isNested = event.path.length > 1
    const subject = [
      ...(run.number > 1 ? [`[${run.number}]`] : []),
      ...(isNested || line.subject === "" ? [agent] : []),
      ...(line.subject === "" ? [] : [line.subject])
    ].join(" ")
    const text = cutText(harmless(redactor.text(line.text.slice(0, maxRead))), maxLength)
    const columns = width ?? terminalWidth()
    // Deeply nested agents keep half of the width.
    const indent = " ".repeat(Math.min(2 * (event.path.length - 1), Math.max(0, Math.floor(columns / 2) - time.length)))
    const room = Math.max(columns - time.length - indent.length, 10)
    const [first = "", ...others] = breakText(text, Math.max(room - columnsOf(subject) - 2, 1), room - 2)
    const shown = (part: string) => colors && part !== "" ? coloured(part, line.tone) : part
    return [
      `${colors ? coloured(time, "quiet") : time}${indent}${shown(first === "" ? subject : `${subject}  ${first}`)}`,
      ...others.map((other) => `${" ".repeat(time.length)}${indent}  ${shown(other)}`)
    ].join("\n")
  }
}

/**
 * A layer that prints the events of the runs below it, one line each, when they happen: requests of the model, failed
 * attempts with reasons, decisions, results for the model. For people who watch a program; programs use `listen`.
 *
 * Lines are written to effect's `Console`, on standard error if `References.LogToStderr` is set. Times are milliseconds
 * since the start of the run. Inner agents are indented. Simultaneous runs are numbered. Secrets are redacted, and
 * control characters are escaped.
 *
 * **Example** (Watching a run)
 *
 * ```ts
 * import { Console, Effect, Layer } from "effect"
 * import { TestConsole } from "effect/testing"
 * import { Agent, AgentEvent } from "@recourse/core"
 *
 * const shout = Agent.fromFunction("shout", (text: string) => Effect.succeed(text.toUpperCase()))
 *
 * const lines = shout.run("hi").pipe(
 *   Effect.provide(AgentEvent.layerConsole({ colors: false })),
 *   Effect.andThen(TestConsole.logLines),
 *   Effect.provide(TestConsole.layer)
 * )
 * const [first] = await Effect.runPromise(lines)
 * first // => "     0 ms  shout  asked: hi"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerConsole = (options?: ConsoleOptions): Layer.Layer<never> => {
  const write = makeWriter(options)
  return listen((event) =>
    Effect.contextWith((context: Context.Context<never>) => {
      const colors = options?.colors ?? Context.get(context, TerminalCapabilities.TerminalCapabilities).canColor
      const text = write(event, colors)
      if (text === undefined) return Effect.void
      return Context.get(context, References.LogToStderr) ? Console.error(text) : Console.log(text)
    })
  )
}
