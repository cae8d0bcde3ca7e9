/** The tools of the chat. Failures that a model can be trusted to correct go to it; all others end the turn. */
import { Effect, Schedule, Schema } from "effect"
import { Recovery, Tool, ToolCall } from "@recourse/core"
import { askUser, fromConversation } from "./missing.ts"
import { Order, OrderError, OrderId, Orders } from "./orders.ts"

/** Failures that may pass in a moment. */
const isTransient = ({ _tag }: OrderError): boolean => _tag === "TooManyRequests" || _tag === "Unavailable"

/** Reading again does no harm. If it does not help, the model may do something else. */
export const OrderStatus = Tool.make("order_status", {
  description: "Tells the state of an order",
  parameters: Schema.Struct({ orderId: OrderId }),
  success: Order,
  failure: OrderError,
  effects: "read",
  timeout: "2 seconds",
  execute: ({ orderId }) => Effect.flatMap(Orders, (orders) => orders.find(orderId))
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.fix("InvalidArgs", fromConversation),
      Effect.catchTag("InvalidArgs", askUser),
      Recovery.retry({
        times: 2,
        schedule: Schedule.exponential("200 millis"),
        while: (error) => error._tag === "Timeout" || (error._tag === "ExecutionError" && isTransient(error.reason))
      }),
      Recovery.catchReasons({
        TooManyRequests: () => ToolCall.escalate({ code: "rate_limited", reason: "Asked too often. Try again later." }),
        Unavailable: () => ToolCall.escalate({ code: "upstream_error", reason: "The order service is down." })
      }),
      Recovery.escalate("InvalidArgs", "Timeout")
    )
  )
)

/** A write is done once, or unknown: any failure of its service ends the turn. */
export const Refund = Tool.make("refund", {
  description: "Pays an order back",
  parameters: Schema.Struct({ orderId: OrderId, reason: Schema.String }),
  success: Schema.Struct({ refund: Schema.String }),
  failure: OrderError,
  effects: "write",
  timeout: "5 seconds",
  execute: ({ orderId, reason }) => Effect.flatMap(Orders, (orders) => orders.refund(orderId, reason))
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.fix("InvalidArgs", fromConversation),
      Effect.catchTag("InvalidArgs", askUser),
      Recovery.escalate("InvalidArgs")
    )
  )
)
