/** A ticket service in memory, with a ticket for each possible failure. Its actions are recorded. */
import { SideEffects } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { BadCredentials, Forbidden, NoSuchTicket, type Ticket, type TicketError, Tickets } from "./tickets.ts"

const find = (id: string): Effect.Effect<Ticket, TicketError> => {
  switch (id) {
    case "T-1":
      return Effect.succeed({ id, title: "The printer is on fire", isOpen: true })
    case "T-2":
      return Effect.fail(new Forbidden({ rule: "tickets of the board are for the board" }))
    case "T-3":
      return Effect.fail(new BadCredentials({ keyId: "key-4711" }))
    case "T-4":
      return Effect.never
    default:
      return Effect.fail(new NoSuchTicket({ id }))
  }
}

export const layer: Layer.Layer<Tickets, never, SideEffects.SideEffects> = Layer.effect(
  Tickets,
  Effect.map(SideEffects.SideEffects, (world) => ({
    get: find,
    close: (id) =>
      Effect.flatMap(
        find(id),
        (ticket) => Effect.as(world.perform({ tool: "close_ticket", details: id }), { ...ticket, isOpen: false })
      )
  }))
)
