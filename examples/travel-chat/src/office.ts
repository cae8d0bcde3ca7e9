/** The travel office: the planner behind a server, with sign-in, conversations and trips in one SQLite file. */
import { NodeHttpServer } from "@effect/platform-node"
import { Approval, Conversation } from "@recourse/core"
import { Authentication, MemoryRuns, RunIndex, Server } from "@recourse/server"
import { NodeSqliteClient } from "@recourse/sql"
import { Studio } from "@recourse/studio"
import { Effect, Layer, Redacted } from "effect"
import type { LanguageModel } from "effect/ai"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { texts } from "./context.ts"
import { AccountClosed, Hotels, HotelsDown, planner } from "./planner.ts"
import { startPage } from "./startPage.ts"
import * as Trips from "./trips.ts"

/** The people that may sign in, with their rights and start pages. A real office asks for a password. */
const principals: ReadonlyArray<Authentication.Principal> = [
  { id: "ada" },
  { id: "ben" },
  { id: "olga", rights: ["operate", "decide"] }
]

/** The people by name, with the content of their cookies. */
const people = new Map(principals.map((principal) => [principal.id, { principal, session: randomUUID() }]))

const cards: ReadonlyArray<Server.AgentCard> = [{
  name: "planner",
  title: "Trip planner",
  description: "Plans your days, finds hotels and books them. Before the first change to a trip it asks you.",
  tools: [
    { name: "list_trips", description: "Lists your trips, with places, notes and bookings" },
    { name: "show_trip", description: "Shows one trip" },
    { name: "search_hotels", description: "Finds hotels in a city" },
    { name: "add_place", description: "Adds a place to a trip" },
    { name: "add_note", description: "Notes something about a trip" },
    { name: "book_hotel", description: "Books a hotel for a trip" }
  ],
  suggestions: [
    "Plan my days in Lisbon",
    "Book a hotel near my first stop",
    "Which trips do I have?",
    "Note that the tickets are in the mail"
  ]
}]

/** Signs a user in: for development, so there is no password. */
const signIn = HttpRouter.add(
  "GET",
  "/sign-in/:name",
  Effect.map(HttpRouter.params, ({ name }) => {
    const person = people.get(name ?? "")
    if (person === undefined) return HttpServerResponse.text("Nobody has this name.", { status: 404 })
    const page = person.principal.rights?.includes("operate") ? "/studio" : "/chat"
    return HttpServerResponse.setCookieUnsafe(HttpServerResponse.redirect(page), "session", person.session, {
      httpOnly: true,
      sameSite: "strict",
      path: "/"
    })
  })
)

const authentication = Authentication.layerSession({
  cookie: "session",
  lookup: (session) => Effect.succeed([...people.values()].find((person) => person.session === session)?.principal)
})

const seed = Layer.effectDiscard(Effect.gen(function*() {
  const trips = yield* Trips.Trips
  const places = ["Alfama", "Castle"]
  yield* trips.make({ id: "lisbon", owner: "ada", destination: "Lisbon", from: "2027-05-03", to: "2027-05-06", places })
  yield* trips.make({ id: "oslo", owner: "ben", destination: "Oslo", from: "2027-02-01", to: "2027-02-04" })
}))

/** A hotel service that fails the first time that a call names a city. */
const hotels = Layer.sync(Hotels, () => {
  const known = new Set<string>()
  return {
    search: (city) =>
      Effect.suspend((): Effect.Effect<ReadonlyArray<string>, HotelsDown | AccountClosed> => {
        if (city === "Nowhere") return Effect.fail(new AccountClosed({ account: "acct-4711" }))
        if (city === "Atlantis" || !known.has(city)) {
          known.add(city)
          return Effect.fail(new HotelsDown())
        }
        return Effect.succeed([`Casa do Rio, ${city}`, `Pensão ${city}`])
      })
  }
})

/** Options to open the office. */
export interface Options {
  /** The file of the database, or `":memory:"`. */
  readonly file: string
  readonly port: number
  readonly model: Layer.Layer<LanguageModel.LanguageModel, Error>
}

/** The office, as long as the scope of the layer is open. */
export const layer = ({ file, model, port }: Options) => {
  const trips = Trips.layer
  const store = Layer.mergeAll(Conversation.layerSql(), trips, seed.pipe(Layer.provide(trips)))
  return HttpRouter.serve(
    Layer.mergeAll(
      Server.layer({ agents: cards }),
      Studio.layer({ signIn: "/" }),
      HttpRouter.add("GET", "/", startPage),
      signIn
    ),
    { disableListenLog: true, disableLogger: true }
  ).pipe(
    Server.drained({ within: "2 seconds" }),
    Layer.provideMerge(NodeHttpServer.layer(() => createServer(), {
      port,
      host: "127.0.0.1",
      gracefulShutdownTimeout: "200 millis"
    })),
    Layer.provide(MemoryRuns.layer({ agents: [planner] })),
    // Runs are in memory, and so is the operators' data about them.
    Layer.provide(RunIndex.layerMemory),
    Layer.provide([
      authentication,
      hotels,
      model,
      texts,
      // Paused runs are in the memory of the process, and so is their key.
      Approval.layerKey(Redacted.make(randomUUID() + randomUUID()))
    ]),
    Layer.provideMerge(store),
    Layer.provide(NodeSqliteClient.layer({ filename: file }))
  )
}
