/** The service of the tools, and its reasons for a refusal. */
import { Context, type Effect, Schema } from "effect"
import { ErrorProjection } from "@recourse/core"

/** There is no such ticket. The model may know which one. */
export class NoSuchTicket extends Schema.TaggedError<NoSuchTicket>()(
  "NoSuchTicket",
  { id: Schema.String },
  ErrorProjection.declare({ outcome: "not_done" })
) {}

/** The user we act for may not do this. */
export class Forbidden extends Schema.TaggedError<Forbidden>()(
  "Forbidden",
  { rule: Schema.String },
  ErrorProjection.declare({ code: "permission_denied", outcome: "not_done" })
) {}

/** Our own credentials were refused. */
export class BadCredentials extends Schema.TaggedError<BadCredentials>()(
  "BadCredentials",
  { keyId: Schema.String },
  ErrorProjection.declare({ code: "authentication", outcome: "not_done" })
) {}

/** All of them. */
export const TicketError = Schema.Union([NoSuchTicket, Forbidden, BadCredentials])

/** All of them. */
export type TicketError = typeof TicketError.Type

export const Ticket = Schema.Struct({ id: Schema.String, title: Schema.String, isOpen: Schema.Boolean })

export type Ticket = typeof Ticket.Type

/** The ticket service. */
export class Tickets extends Context.Service<Tickets, {
  readonly get: (id: string) => Effect.Effect<Ticket, TicketError>
  readonly close: (id: string) => Effect.Effect<Ticket, TicketError>
}>()("fatal-errors/Tickets") {}
