/** The agent as it is put to the test: with doubles of its services, and a scripted model. */
import { ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { Agent } from "@recourse/core"
import { agent } from "./crm.ts"
import { guard } from "./guard.ts"
import { Crm, Mailer, NoSuchCustomer, Payments, Unreachable, Web } from "./services.ts"

export const ada = { id: "c-1815", name: "Ada Lovelace", email: "ada@example.com" }

const crm = Layer.succeed(Crm, {
  find: (name) => name === ada.name ? Effect.succeed(ada) : Effect.fail(new NoSuchCustomer({ name }))
})

const mailer = Layer.effect(
  Mailer,
  Effect.map(SideEffects.SideEffects, (world) => ({
    send: (email, key) =>
      Effect.as(world.perform({ tool: "send_email", key, details: email }), { receipt: `receipt-${key}` })
  }))
)

const payments = Layer.effect(
  Payments,
  Effect.map(SideEffects.SideEffects, (world) => ({
    refund: (customer, euros) => Effect.asVoid(world.perform({ tool: "refund", details: { customer, euros } }))
  }))
)

const web = Layer.succeed(Web, {
  get: (url) =>
    url === "https://example.com/pricing"
      ? Effect.succeed("The team plan is 12 euros a month.")
      : Effect.fail(new Unreachable({ service: url }))
})

const write: Subject.ScenarioOptions<string> = {
  input: "Tell Ada Lovelace what the team plan costs. It stands at https://example.com/pricing",
  model: [
    ScriptedModel.calls([
      { name: "crm_lookup", params: { name: ada.name } },
      { name: "fetch_page", params: { url: "https://example.com/pricing" } }
    ]),
    ScriptedModel.call("send_email", {
      to: ada.email,
      subject: "The team plan",
      body: "Dear Ada, the team plan is 12 euros a month."
    }),
    ScriptedModel.text("I have written to Ada.")
  ]
}

const refund: Subject.ScenarioOptions<string> = {
  input: "Ada Lovelace was charged twice, 20 and 480 euros. Pay it back and tell her.",
  model: [
    ScriptedModel.call("crm_lookup", { name: ada.name }),
    ScriptedModel.calls([
      { name: "refund", params: { customer: ada.id, euros: 20 } },
      { name: "refund", params: { customer: ada.id, euros: 480 } },
      { name: "crm_lookup", params: { name: ada.name } }
    ]),
    ScriptedModel.call("send_email", { to: ada.email, subject: "Your refund", body: "It is on its way." }),
    ScriptedModel.text("Ada has her money back.")
  ]
}

const services = Layer.mergeAll(
  crm,
  mailer,
  payments,
  web,
  guard
)

export const subject = Subject.make({
  agent: agent.pipe(Agent.provide(services)),
  scenarios: { default: write, refund }
})

export default subject
