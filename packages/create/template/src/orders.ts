/** Stands for your order service. Replace it by requests to your own. */
import { ErrorProjection } from "@recourse/core"
import { Effect, Schema } from "effect"

/** The model and the user read the declared texts of this error, and no other part of it. */
export class OrderNotFound extends Schema.TaggedError<OrderNotFound>()(
  "OrderNotFound",
  { order: Schema.Int },
  ErrorProjection.declare<{ readonly order: number }>({
    code: "not_found",
    model: ({ order }) => `There is no order ${order}.`,
    user: ({ order }) => ({ en: `I could not find order ${order}.` })
  })
) {}

/** The service is down. */
export class OrdersDown extends Schema.TaggedError<OrdersDown>()("OrdersDown", {}) {}

const orders: Readonly<Record<number, string>> = { 7: "Order 7 is on its way.", 8: "Order 8 has arrived." }

export const findOrder = (order: number): Effect.Effect<string, OrderNotFound | OrdersDown> =>
  Effect.suspend(() => {
    const found = orders[order]
    return found === undefined ? new OrderNotFound({ order }) : Effect.succeed(found)
  })
