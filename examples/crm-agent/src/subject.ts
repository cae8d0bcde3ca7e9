/** The agent as it is put to the test: with doubles of its services, and a scripted model. */
import { ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { Agent } from "recourse"
import { agent, budget, tools } from "./crm.ts"
import { Crm, Mailer, NoSuchCustomer, Unreachable, Web } from "./services.ts"

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

const web = Layer.succeed(Web, {
  get: (url) =>
    url === "https://example.com/pricing"
      ? Effect.succeed("The team plan is 12 euros a month.")
      : Effect.fail(new Unreachable({ service: url }))
})

const scenario: Subject.ScenarioOptions<string> = {
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

export const subject = Subject.make({
  agent: agent.pipe(Agent.provide(Layer.mergeAll(crm, mailer, web))),
  tools,
  budget,
  scenarios: { default: scenario }
})

export default subject
