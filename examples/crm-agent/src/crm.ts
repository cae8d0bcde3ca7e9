/** A sales assistant: it looks customers up, reads web pages, writes e-mails and pays refunds, and each of them can fail. */
import { Effect, Schedule, Schema } from "effect"
import { Agent, ModelError, Recovery, Tool, ToolCall } from "@recourse/core"
import { Crm, Mailer, Payments, Web } from "./services.ts"

/** Reading again does no harm: a request without an answer is sent again, twice. */
export const FindCustomer = Tool.make("crm_lookup", {
  description: "Find a customer by name",
  parameters: Schema.Struct({ name: Schema.String }),
  success: Schema.Struct({ id: Schema.String, name: Schema.String, email: Schema.String }),
  effects: "read",
  timeout: "3 seconds",
  execute: ({ name }) => Effect.flatMap(Crm, (crm) => crm.find(name))
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.retry({ times: 2, schedule: Schedule.exponential("200 millis") }),
      Recovery.catchReason(
        "NoSuchCustomer",
        () => ToolCall.escalate({ code: "not_found", reason: "No such customer" })
      ),
      Recovery.escalate("InvalidArgs", "Timeout", "ExecutionError")
    )
  )
)

/** A write that hands its key on: the mail service sends once for each, so asking again is as good as asking once. */
export const SendEmail = Tool.make("send_email", {
  description: "Send an e-mail to a customer",
  parameters: Schema.Struct({ to: Schema.String, subject: Schema.String, body: Schema.String }),
  success: Schema.Struct({ receipt: Schema.String }),
  effects: "write",
  idempotency: true,
  timeout: "5 seconds",
  execute: (email) =>
    Effect.gen(function*() {
      const { idempotencyKey } = yield* ToolCall.ToolCall
      const mailer = yield* Mailer
      return yield* mailer.send(email, idempotencyKey)
    })
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.retry({ times: 2, schedule: Schedule.exponential("500 millis") }),
      Recovery.escalate("InvalidArgs", "OutcomeUnknown", "ExecutionError")
    )
  )
)

/** A page may contain any text, so the model reads that it is untrusted, and the run is tainted. */
export const FetchPage = Tool.make("fetch_page", {
  description: "Read a web page",
  parameters: Schema.Struct({ url: Schema.String }),
  success: Schema.Struct({ text: Schema.String }),
  effects: "read",
  trust: "untrusted",
  timeout: "3 seconds",
  execute: ({ url }) => Effect.flatMap(Web, (web) => Effect.map(web.get(url), (text) => ({ text })))
}).pipe(
  Tool.onError((call) =>
    call.pipe(Recovery.retry({ times: 1 }), Recovery.escalate("InvalidArgs", "Timeout", "ExecutionError"))
  )
)

/** Money leaves the house, and the payment service knows no keys: never twice, and not without a person above a limit. */
export const Refund = Tool.make("refund", {
  description: "Pay money back to a customer",
  parameters: Schema.Struct({ customer: Schema.String, euros: Schema.Int }),
  success: Schema.Struct({ refunded: Schema.Int }),
  effects: "write",
  needsApproval: ({ euros }) => euros > 100,
  timeout: "10 seconds",
  execute: ({ customer, euros }) =>
    Effect.flatMap(Payments, (payments) => Effect.as(payments.refund(customer, euros), { refunded: euros }))
}).pipe(Tool.onError(Recovery.escalate("InvalidArgs", "ExecutionError")))

export const tools = [FindCustomer, SendEmail, FetchPage, Refund] as const

export const budget = {
  turns: 10,
  toolCalls: 15,
  retriesPerTool: 4,
  allFailureRounds: 4,
  duration: "2 minutes"
} as const

export const agent = Agent.make("crm", {
  instructions: "You help the sales team. Look customers up before you write to them.",
  tools,
  // Text planted by a page could leave by e-mail, or trigger a payment: once one was read, a person checks either.
  onTainted: "approve",
  defaults: {
    onError: Recovery.policy({
      InvalidResult: "escalate",
      OutcomeUnknown: "escalate",
      PartialSuccess: "escalate",
      LedgerUnavailable: "escalate"
    })
  },
  onModelError: (error) =>
    error.isRetryable
      ? ModelError.retry({ times: 2, schedule: Schedule.exponential("500 millis") })
      : ModelError.rethrow,
  budget
})
