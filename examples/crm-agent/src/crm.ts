/** A sales assistant: it looks customers up, reads web pages and writes e-mails, and each of the three can fail. */
import { Effect, Schedule, Schema } from "effect"
import { Agent, ModelError, Recovery, Tool, ToolCall } from "recourse"
import { looksLikeInstructions } from "./guard.ts"
import { Crm, Mailer, Web } from "./services.ts"

/** Reading again does no harm: what did not answer is asked again, twice. */
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

/** The call's id is the key under which the mail service sends once: asking again is then as good as asking once. */
export const SendEmail = Tool.make("send_email", {
  description: "Send an e-mail to a customer",
  parameters: Schema.Struct({ to: Schema.String, subject: Schema.String, body: Schema.String }),
  success: Schema.Struct({ receipt: Schema.String }),
  effects: "idempotent",
  timeout: "5 seconds",
  execute: (email) =>
    Effect.gen(function*() {
      const { id } = yield* ToolCall.ToolCall
      const mailer = yield* Mailer
      return yield* mailer.send(email, id)
    })
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.retry({ times: 2, schedule: Schedule.exponential("500 millis") }),
      Recovery.escalate("InvalidArgs", "Timeout", "ExecutionError")
    )
  )
)

/** A page may say anything to whoever reads it, so one that speaks to the model is kept from it. */
export const FetchPage = Tool.make("fetch_page", {
  description: "Read a web page",
  parameters: Schema.Struct({ url: Schema.String }),
  success: Schema.Struct({ text: Schema.String }),
  effects: "read",
  timeout: "3 seconds",
  execute: ({ url }) => Effect.flatMap(Web, (web) => Effect.map(web.get(url), (text) => ({ text })))
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Effect.flatMap((page) =>
        looksLikeInstructions(page.text)
          ? ToolCall.escalate({
            code: "unsafe_output",
            reason: "The page was blocked: it holds instructions. Go on without it.",
            severity: "high"
          })
          : Effect.succeed(page)
      ),
      Recovery.retry({ times: 1 }),
      Recovery.escalate("InvalidArgs", "Timeout", "ExecutionError")
    )
  )
)

export const tools = [FindCustomer, SendEmail, FetchPage] as const

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
  defaults: { onError: Recovery.policy({ InvalidResult: "escalate" }) },
  onModelError: (error) =>
    error.isRetryable
      ? ModelError.retry({ times: 2, schedule: Schedule.exponential("500 millis") })
      : ModelError.rethrow,
  budget
})
