/** The events of a run as lines of text: what happened, to which attempt, why, and what was decided. */
import { Effect } from "effect"
import { AgentEvent } from "@recourse/core"

const codes = { dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const
type Color = keyof typeof codes

const short = (text: string): string => text.length > 100 ? `${text.slice(0, 99)}…` : text

const wait = (delay: number): string => delay === 0 ? "at once" : `after ${Math.round(delay)} ms`

/** A line for an event: its colour, its subject, what happened. Events that tell a reader nothing have none. */
export const line = (event: AgentEvent.AgentEvent): readonly [Color, string, string] | undefined => {
  switch (event._tag) {
    case "RunStarted":
      return ["blue", "run", `asked: ${String(event.input)}`]
    case "RunFinished":
      return event.outcome === "success"
        ? ["green", "run", `answered: ${String(event.output)}`]
        : ["red", "run", `${event.outcome}${event.error === undefined ? "" : `: ${event.error}`}`]
    case "AgentStarted":
      return ["blue", "agent", "asked"]
    case "AgentFinished":
      return ["blue", "agent", event.outcome === "success" ? "answered" : event.error ?? event.outcome]
    case "ModelTurnStarted":
      return ["dim", `turn ${event.turn}`, "model called"]
    case "ModelTurnFinished":
      return event.text === "" ? undefined : ["dim", `turn ${event.turn}`, `model said: ${short(event.text)}`]
    case "TransportRetry":
      return ["yellow", `turn ${event.turn}`, `HTTP ${event.error}, request sent again ${wait(event.delay)}`]
    case "ModelRetry":
      return ["yellow", `turn ${event.turn}`, `${event.error}, model called again ${wait(event.delay)}`]
    case "ModelSubstituted":
      return ["yellow", `turn ${event.turn}`, `${event.error}, answered in the model's place`]
    case "ToolCallStarted":
      return ["cyan", event.callId, `${event.tool} ${short(event.arguments)}`]
    case "ToolAttempt":
      return ["cyan", event.callId, `attempt ${event.attempt}, ${wait(event.delay)}`]
    case "ToolAttemptFailed":
      return ["red", event.callId, `attempt ${event.attempt} failed: ${event.reason ?? event.error}`]
    case "ToolRetry":
      return ["yellow", event.callId, `decision: retry ${event.retry}, ${wait(event.delay)}`]
    case "FixStarted":
      return ["magenta", event.callId, `decision: ask ${event.fixer} (fix ${event.fix})`]
    case "FixFinished":
      return [
        "magenta",
        event.callId,
        `${event.fixer}: ${event.answer}${event.arguments === undefined ? "" : ` ${short(event.arguments)}`}`
      ]
    case "ToolEscalated":
      return ["magenta", event.callId, `decision: tell the model (${event.severity}): ${short(event.reason)}`]
    case "ToolResult":
      return event.isFailure
        ? ["yellow", event.callId, `result for the model: ${event.code}`]
        : ["green", event.callId, `result for the model: ${JSON.stringify(event.result)}`]
    case "BudgetThreshold":
      return ["yellow", "budget", `${event.budget} of ${event.agent}: ${event.used} of ${event.limit} used`]
    default:
      return undefined
  }
}

/** Prints events as they happen, with colours if the output is a terminal; nested agents are indented. */
export const print = (write: (text: string) => void, isTerminal: boolean) => {
  let start: number | undefined
  return AgentEvent.listen((event) =>
    Effect.sync(() => {
      start ??= event.at
      const content = line(event)
      if (content === undefined) return
      const [color, subject, text] = content
      const time = `${String(event.at - start).padStart(5)} ms`
      const indent = "  ".repeat(event.path.length - 1)
      const agent = event.path.at(-1) ?? ""
      const plain = `${time}  ${indent}${agent}  ${subject}  ${text}`
      write(
        isTerminal
          ? `\u001B[2m${time}\u001B[0m  ${indent}\u001B[${codes[color]}m${agent}  ${subject}  ${text}\u001B[0m`
          : plain
      )
    })
  )
}
