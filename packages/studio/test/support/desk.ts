/** A travel desk for the studio: tools that fail, are tried again, are repaired and wait; an agent within it; text that is no HTML. */
import { Agent, Approval, Conversation, IdempotencyLedger, Recovery, Runs, Tool } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { NextFaults, Studio } from "@recourse/studio"
import { ScriptedModel } from "@recourse/testing"
import { Context, Data, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { type LanguageModel, Prompt } from "effect/ai"
import { HttpRouter } from "effect/http"
import { listening, serving } from "./serving.ts"

/** Possible text of a model or a tool. */
export const evil = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=2</script>"

class Down extends Data.TaggedError("Down")<{ readonly host: string }> {}
class NoSeat extends Data.TaggedError("NoSeat")<{ readonly row: number }> {}

const escalate = Recovery.escalate("ExecutionError", "InvalidArgs")

const desk = (deeds: Array<string>) => {
  let failures = 0
  const Search = Tool.make("search_flights", {
    parameters: Schema.Struct({ from: Schema.String, to: Schema.String }),
    success: Schema.Array(Schema.Struct({ flight: Schema.String, price: Schema.Number })),
    effects: "read",
    execute: ({ from, to }) =>
      Effect.andThen(
        Effect.sleep("40 millis"),
        to === evil
          ? Effect.succeed([{ flight: evil, price: 1 }])
          : to === "Nowhere" || failures++ % 3 < 2
          ? Effect.fail(new Down({ host: `flights.internal ${evil}` }))
          : Effect.succeed([{ flight: `${from}-${to} 204`, price: 180 }])
      )
  }).pipe(
    Tool.onError((call) => call.pipe(Recovery.retry({ times: 2, schedule: Schedule.spaced("50 millis") }), escalate))
  )
  const Seat = Tool.make("choose_seat", {
    parameters: Schema.Struct({ row: Schema.Int }),
    success: Schema.String,
    effects: "read",
    execute: ({ row }) =>
      Effect.andThen(
        Effect.sleep("20 millis"),
        row > 30 ? Effect.fail(new NoSeat({ row })) : Effect.succeed(`Row ${row}, window`)
      )
  }).pipe(Tool.onError((call) =>
    call.pipe(
      Recovery.fix(
        "ExecutionError",
        Agent.fromFunction("nearest_row", () => Effect.as(Effect.sleep("30 millis"), JSON.stringify({ row: 12 })))
      ),
      escalate
    )
  ))
  const Book = Tool.make("book", {
    parameters: Schema.Struct({ flight: Schema.String, price: Schema.Number }),
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: ({ flight, price }) =>
      Effect.sync(() => {
        deeds.push(`${flight} for ${price}`)
        return `booked ${flight}`
      }),
    compensate: ({ flight }) => Effect.sync(() => void deeds.push(`${flight} cancelled`))
  })
  const Hold = Tool.make("hold_room", {
    parameters: Schema.Struct({ hotel: Schema.String }),
    success: Schema.Struct({ code: Schema.String }),
    effects: "write",
    execute: ({ hotel }) => Effect.sync(() => (deeds.push(`hold ${hotel}`), { code: `${hotel}-7` })),
    compensate: ({ hotel }, { code }) =>
      hotel === "Grand"
        ? Effect.fail(new Down({ host: "grand.internal" }))
        : Effect.delay(Effect.sync(() => void deeds.push(`release ${code}`)), "40 millis")
  })
  const Wire = Tool.make("wire_money", {
    parameters: Schema.Struct({ euros: Schema.Number }),
    effects: "write",
    needsApproval: true,
    execute: ({ euros }) => Effect.sync(() => void deeds.push(`wire ${euros}`))
  })
  const Charge = Tool.make("charge", {
    parameters: Schema.Struct({ euros: Schema.Number }),
    effects: "write",
    timeout: "40 millis",
    execute: () => Effect.never
  })
  const Seats = Agent.make("seats", {
    input: Schema.Struct({ wish: Schema.String }),
    prompt: ({ wish }) => wish,
    instructions: "Choose a seat.",
    tools: [Seat],
    defaults: { onError: Recovery.standard }
  }).pipe(Agent.asTool("find_seat", {
    description: "Chooses a seat",
    parameters: Schema.Struct({ wish: Schema.String }),
    success: Schema.String
  }))
  return Agent.make("travel", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    instructions: "You book flights. Search first, and ask before you book.",
    tools: [Search, Book, Seats, Charge, Hold, Wire],
    budget: { turns: 8, toolCalls: 20, tokens: 4000, duration: "1 minute" },
    defaults: { onError: Recovery.standard }
  })
}

const says = (text: string) => ScriptedModel.text(text, { usage: { input: 310, output: 42 } })
const calls = (name: string, params: unknown) =>
  ScriptedModel.calls([{ name, params }], { usage: { input: 240, output: 31 } })

/** The desk's model's answers: by the user's wish, and its progress. */
const scripts: Readonly<Record<string, ReadonlyArray<ScriptedModel.Turn>>> = {
  trip: [
    calls("search_flights", { from: "Berlin", to: "Porto" }),
    calls("find_seat", { wish: "window, far back" }),
    calls("search_flights", { from: "Berlin", to: "Nowhere" }),
    says("Flight Berlin-Porto 204 leaves at 9:40. You have row 12 by the window.")
  ],
  book: [calls("book", { flight: "Berlin-Porto 204", price: 180 }), says("Booked.")],
  plan: [
    ScriptedModel.calls([
      { name: "hold_room", params: { hotel: "Ritz" } },
      { name: "hold_room", params: { hotel: "Grand" } },
      { name: "hold_room", params: { hotel: "Plaza" } }
    ], { usage: { input: 240, output: 31 } }),
    calls("charge", { euros: 90 }),
    says("Three rooms are held.")
  ],
  wire: [
    calls("search_flights", { from: "Berlin", to: "Porto" }),
    calls("find_seat", { wish: "window" }),
    calls("search_flights", { from: "Berlin", to: "Nowhere" }),
    calls("hold_room", { hotel: "Ritz" }),
    calls("wire_money", { euros: 240 }),
    says("The money is on its way.")
  ],
  unsure: [calls("charge", { euros: 90 }), says("It may have been charged.")],
  evil: [calls("search_flights", { from: evil, to: evil }), says(evil)],
  short: [says("Hello.")],
  hang: [ScriptedModel.hang],
  seat: [calls("choose_seat", { row: 40 }), says("Row 12.")]
}

const textsOf = ({ prompt }: ScriptedModel.Request): string => JSON.stringify(prompt.content)

const behaviour: ScriptedModel.Behaviour = (request) => {
  const said = textsOf(request)
  const name = said.includes("Choose a seat.")
    ? "seat"
    : Object.keys(scripts).find((name) => said.includes(`do: ${name}`)) ?? "short"
  const turns = scripts[name]!
  const answers = request.prompt.content.filter(({ role }) => role === "assistant").length
  return ScriptedModel.delay("30 millis", turns[Math.min(answers, turns.length - 1)]!)
}

/** User of the page. */
const authentication = Authentication.layer(({ headers }) =>
  Effect.succeed(
    headers["cookie"]?.includes("who=otto")
      ? { id: "otto", rights: ["operate"] as const }
      : headers["cookie"]?.includes("who=nobody")
      ? undefined
      : { id: "olga", rights: ["chat", "decide", "operate"] as const }
  )
)

/** A ledger with an entry of a process that has ended. */
const ledger: IdempotencyLedger.Store = {
  begin: () => Effect.undefined,
  renew: () => Effect.succeed(true),
  take: () => Effect.succeed(true),
  complete: () => Effect.succeed("recorded"),
  release: () => Effect.void,
  abandoned: () =>
    Effect.succeed([{
      id: "entry-7",
      tool: "transfer",
      callId: "c7",
      arguments: "hash",
      claim: "claim",
      startedAt: Date.now() - 90_000,
      leasedUntil: Date.now() - 60_000
    }])
}

/** The pages and routes over these runs, the next of which may have faults. */
export const serveRuns = async <E>(
  runs: Layer.Layer<Runs.Runs, E, LanguageModel.LanguageModel | Approval.SnapshotKey>
) => {
  const app = HttpRouter.serve(
    Layer.mergeAll(
      Server.layer({ agents: [{ name: "travel", tools: [{ name: "search_flights" }] }], rateLimit: false }),
      Studio.layer({ signIn: "/start?from=\"studio\"" }),
      NextFaults.routes
    ),
    { disableListenLog: true, disableLogger: true }
  )
  const { close, context, url } = await serving(app.pipe(
    Layer.provideMerge(listening()),
    Layer.provideMerge(NextFaults.runs(runs)),
    Layer.provide([
      authentication,
      Conversation.layerMemory,
      IdempotencyLedger.layer(ledger),
      ScriptedModel.layer(behaviour),
      Approval.layerKey(Redacted.make("a key of the studio's tests with 32 bytes or more"))
    ])
  ))
  return { url, close, runs: Context.get(context, Runs.Runs) }
}

/** The travel desk. `begin` starts a run of one of the scripts. */
export const serveDesk = async () => {
  const deeds: Array<string> = []
  const served = await serveRuns(MemoryRuns.layer({ agents: [desk(deeds)], gracePeriod: 0 }))
  const run = <A, E>(of: (runs: Runs.RunsService) => Effect.Effect<A, E>) => Effect.runPromise(of(served.runs))
  return {
    ...served,
    deeds,
    begin: async (script: keyof typeof scripts, owner = "ada") =>
      (await run((runs) => runs.start({ agent: "travel", owner, input: `do: ${script}` }))).runId,
    ended: (runId: string) => run((runs) => runs.wait(runId))
  }
}
