/** Services of the agent's tools. */
import { Context, Data, type Effect } from "effect"

/** The service could not be reached, or did not answer. */
export class Unreachable extends Data.TaggedError("Unreachable")<{ readonly service: string }> {}

/** There is no such customer. */
export class NoSuchCustomer extends Data.TaggedError("NoSuchCustomer")<{ readonly name: string }> {}

export interface Customer {
  readonly id: string
  readonly name: string
  readonly email: string
}

/** The customer database. */
export class Crm extends Context.Service<Crm, {
  readonly find: (name: string) => Effect.Effect<Customer, NoSuchCustomer | Unreachable>
}>()("crm-agent/Crm") {}

export interface Email {
  readonly to: string
  readonly subject: string
  readonly body: string
}

/** The mail service. A repeated mail with the same key is sent once; both answers are the same receipt. */
export class Mailer extends Context.Service<Mailer, {
  readonly send: (
    email: Email,
    idempotencyKey: string | undefined
  ) => Effect.Effect<{ readonly receipt: string }, Unreachable>
}>()("crm-agent/Mailer") {}

/** The payment service. */
export class Payments extends Context.Service<Payments, {
  readonly refund: (customer: string, euros: number) => Effect.Effect<void, Unreachable>
}>()("crm-agent/Payments") {}

/** The web. */
export class Web extends Context.Service<Web, {
  readonly get: (url: string) => Effect.Effect<string, Unreachable>
}>()("crm-agent/Web") {}
