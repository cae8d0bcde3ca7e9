/**
 * Fatal or not: one declaration for all tools. Failures that a model can handle go to the model. Others, which need an
 * administrator, end the run, and are in its error type.
 */
import { Cause, Effect, Exit, Schedule, Schema } from "effect"
import { Agent, ErrorProjection, Recovery, Tool, ToolCall, type ToolError } from "@recourse/core"
import { Ticket, TicketError, Tickets } from "./tickets.ts"

/** Possible failures of the tools of this program. */
type Failure =
  | ToolError.InvalidArgs
  | ToolError.Timeout
  | ToolError.OutcomeUnknown
  | ToolError.ExecutionError<TicketError>

/**
 * The declaration. It names the failures that are not fatal; the rest is. Remove a line, and its failure is in the
 * error type of the run.
 */
export const fatalOrNot = <A, R>(call: Effect.Effect<A, Failure, R>) =>
  call.pipe(
    Recovery.retry({
      times: 1,
      schedule: Schedule.exponential("500 millis"),
      while: (error) => error._tag === "Timeout"
    }),
    Recovery.catchReason(
      "NoSuchTicket",
      ({ id }) => ToolCall.escalate({ code: "not_found", reason: `There is no ticket ${id}.` })
    ),
    Recovery.escalate("InvalidArgs", "Timeout", "OutcomeUnknown")
  )

const parameters = Schema.Struct({ id: Schema.String })

export const GetTicket = Tool.make("get_ticket", {
  description: "Read a ticket",
  parameters,
  success: Ticket,
  failure: TicketError,
  effects: "read",
  timeout: "2 seconds",
  execute: ({ id }) => Effect.flatMap(Tickets, (tickets) => tickets.get(id))
}).pipe(Tool.onError(fatalOrNot))

export const CloseTicket = Tool.make("close_ticket", {
  description: "Close a ticket",
  parameters,
  success: Ticket,
  failure: TicketError,
  effects: "write",
  timeout: "2 seconds",
  execute: ({ id }) => Effect.flatMap(Tickets, (tickets) => tickets.close(id))
}).pipe(Tool.onError(fatalOrNot))

export const budget = { turns: 8, toolCalls: 12, duration: "2 minutes" } as const

/** Its run can fail with an `AgentError`, and with `ExecutionError<Forbidden | BadCredentials>`. */
export const desk = Agent.make("desk", {
  instructions: "You keep the tickets of a help desk in order.",
  tools: [GetTicket, CloseTicket],
  // Results are checked behind the recovery of a tool.
  defaults: { onError: Recovery.policy({ InvalidResult: "escalate" }) },
  budget
})

/** The user's text: the answer, or the sentence of the error that ended the run. */
export const ask = (question: string) =>
  Effect.flatMap(desk.report(question), ({ exit, runId }) =>
    Exit.isSuccess(exit)
      ? Effect.succeed(exit.value)
      : Effect.map(ErrorProjection.forUser(Cause.squash(exit.cause), runId), ({ message }) => message))
