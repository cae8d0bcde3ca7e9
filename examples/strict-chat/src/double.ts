/** An order service in memory, with an order for everything that can go wrong. It records its requests. */
import { SideEffects } from "@recourse/testing"
import { Duration, Effect, Layer } from "effect"
import {
  BadCredentials,
  NoSuchOrder,
  NotYours,
  type Order,
  type OrderError,
  Orders,
  TooManyRequests,
  Unavailable
} from "./orders.ts"

/** Outcome of a request for an order; `times` is the number of earlier requests. */
const find = (orderId: string, times: number): Effect.Effect<Order, OrderError> => {
  const order = { orderId, state: "shipped" }
  switch (orderId) {
    case "A-1001":
    case "A-1002":
      return Effect.succeed(order)
    case "A-2001":
      return times < 2 ? Effect.fail(new Unavailable({ status: 503 })) : Effect.succeed(order)
    case "A-2002":
      return Effect.fail(new Unavailable({ status: 500 }))
    case "A-2003":
      return times < 1 ? Effect.fail(new TooManyRequests({ retryAfter: Duration.seconds(3) })) : Effect.succeed(order)
    case "A-2004":
      return Effect.never
    case "A-3001":
      return Effect.fail(new NotYours({ owner: "bob@example.com" }))
    case "A-3002":
      return Effect.fail(new BadCredentials({ keyId: "key-4711" }))
    default:
      return Effect.fail(new NoSuchOrder({ orderId }))
  }
}

export const layer: Layer.Layer<Orders, never, SideEffects.SideEffects> = Layer.effect(
  Orders,
  Effect.map(SideEffects.SideEffects, (world) => {
    const asked = (tool: string, orderId: string, read?: true) =>
      Effect.gen(function*() {
        const times = (yield* world.all).filter(({ details }) => details === orderId).length
        yield* world.perform({ tool, details: orderId, read })
        yield* Effect.sleep("100 millis")
        return yield* find(orderId, times)
      })
    return {
      find: (orderId) => asked("order_status", orderId, true),
      refund: (orderId) => Effect.as(asked("refund", orderId), { refund: `R-${orderId}` })
    }
  })
)
