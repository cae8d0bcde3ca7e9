/** The service that the tools talk to, and its reasons to refuse. */
import { Context, type Duration, type Effect, Schema } from "effect"
import { ErrorProjection } from "@recourse/core"

/** There is no such order. */
export class NoSuchOrder extends Schema.TaggedError<NoSuchOrder>()(
  "NoSuchOrder",
  { orderId: Schema.String },
  ErrorProjection.declare({ code: "not_found", outcome: "not_done" })
) {}

/** The order belongs to another customer. */
export class NotYours extends Schema.TaggedError<NotYours>()(
  "NotYours",
  { owner: Schema.String },
  ErrorProjection.declare({ code: "permission_denied", outcome: "not_done" })
) {}

/** Our own credentials were refused. */
export class BadCredentials extends Schema.TaggedError<BadCredentials>()(
  "BadCredentials",
  { keyId: Schema.String },
  ErrorProjection.declare({ code: "authentication", outcome: "not_done" })
) {}

/** Asked too often (429). */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()(
  "TooManyRequests",
  { retryAfter: Schema.Duration },
  ErrorProjection.declare<{ readonly retryAfter: Duration.Duration }>({
    code: "rate_limited",
    outcome: "not_done",
    retryAfter: ({ retryAfter }) => retryAfter
  })
) {}

/** The service has a problem of its own (5xx). Its earlier effect is unknown. */
export class Unavailable extends Schema.TaggedError<Unavailable>()(
  "Unavailable",
  { status: Schema.Int },
  ErrorProjection.declare({ code: "upstream_error" })
) {}

/** All of them. */
export const OrderError = Schema.Union([NoSuchOrder, NotYours, BadCredentials, TooManyRequests, Unavailable])

/** All of them. */
export type OrderError = typeof OrderError.Type

const digits = String.raw`A-\d{4}`

/** The number of an order, such as A-1001. */
export const OrderId = Schema.String.check(Schema.isPattern(new RegExp(`^${digits}$`)))

/** The numbers of orders in a text, each once. */
export const orderIdsIn = (text: string): ReadonlyArray<string> => [
  ...new Set(text.match(new RegExp(String.raw`\b${digits}\b`, "g")))
]

export const Order = Schema.Struct({ orderId: OrderId, state: Schema.String })

export type Order = typeof Order.Type

/** The order service. */
export class Orders extends Context.Service<Orders, {
  readonly find: (orderId: string) => Effect.Effect<Order, OrderError>
  readonly refund: (orderId: string, reason: string) => Effect.Effect<{ readonly refund: string }, OrderError>
}>()("strict-chat/Orders") {}
