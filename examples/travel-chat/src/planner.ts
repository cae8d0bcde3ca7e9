/** The planner: its tools, the handling of their failures, and its questions. */
import { Agent, ErrorProjection, ModelError, Policy, Recovery, Runs, Tool, ToolCall } from "@recourse/core"
import { Context, Effect, Schedule, Schema } from "effect"
import { Prompt } from "effect/ai"
import { askUser, fromTrip } from "./context.ts"
import { type Kind, NoSuchTrip, Trip, Trips } from "./trips.ts"

/** The hotel service does not answer. */
export class HotelsDown extends Schema.TaggedError<HotelsDown>()(
  "HotelsDown",
  {},
  ErrorProjection.declare({ code: "upstream_error", outcome: "not_done" })
) {}

/** Our account at the hotel service is closed: the model cannot help. */
export class AccountClosed extends Schema.TaggedError<AccountClosed>()(
  "AccountClosed",
  { account: Schema.String },
  ErrorProjection.declare({ code: "authentication", outcome: "not_done" })
) {}

/** Finds hotels. */
export class Hotels extends Context.Service<Hotels, {
  readonly search: (city: string) => Effect.Effect<ReadonlyArray<string>, HotelsDown | AccountClosed>
}>()("travel-chat/Hotels") {}

/** Owner of the run. A tool checks the owner's rights itself. */
const traveller = Effect.map(Runs.Owner, (owner) => owner ?? "")

const ListTrips = Tool.make("list_trips", {
  description: "Lists the user's trips, with places, notes and bookings",
  success: Schema.Array(Trip),
  effects: "read",
  execute: () => Effect.flatMap(traveller, (who) => Effect.flatMap(Trips, (trips) => trips.of(who)))
})

const ShowTrip = Tool.make("show_trip", {
  description: "Shows one trip",
  parameters: Schema.Struct({ trip: Schema.String }),
  success: Trip,
  failure: NoSuchTrip,
  effects: "read",
  execute: ({ trip }) => Effect.flatMap(traveller, (who) => Effect.flatMap(Trips, (trips) => trips.get(who, trip)))
}).pipe(Tool.onError((call) =>
  call.pipe(
    Recovery.fix("InvalidArgs", fromTrip),
    Effect.catchTag("InvalidArgs", askUser),
    Recovery.escalate("ExecutionError")
  )
))

const SearchHotels = Tool.make("search_hotels", {
  description: "Finds hotels in a city",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.Array(Schema.String),
  failure: Schema.Union([HotelsDown, AccountClosed]),
  effects: "read",
  execute: ({ city }) => Effect.flatMap(Hotels, (hotels) => hotels.search(city))
}).pipe(Tool.onError((call) =>
  call.pipe(
    Recovery.retry({
      times: 1,
      schedule: Schedule.spaced("200 millis"),
      while: (error) => error._tag === "ExecutionError" && error.reason._tag === "HotelsDown"
    }),
    Recovery.fix("InvalidArgs", fromTrip),
    Effect.catchTag("InvalidArgs", askUser),
    // A service that is down may be back later; a closed account ends the turn.
    Recovery.catchReasons({
      HotelsDown: () => ToolCall.escalate({ code: "upstream_error", reason: "The hotel service is down." })
    })
  )
))

/** Writes to a trip: the trip is filled in like any other argument, and its owner is checked by the store. */
const writes = <const Name extends string, Fields extends Schema.Struct.Fields>(
  name: Name,
  description: string,
  kind: Kind,
  fields: Fields,
  text: (given: Schema.Struct<Fields>["Type"]) => string
) =>
  Tool.make(name, {
    description,
    parameters: Schema.Struct({ trip: Schema.String, ...fields }),
    success: Trip,
    failure: NoSuchTrip,
    effects: "write",
    execute: (given) =>
      Effect.flatMap(
        traveller,
        (who) =>
          Effect.flatMap(
            Trips,
            (trips) => trips.add(who, (given as { readonly trip: string }).trip, kind, text(given as never))
          )
      ),
    // The operator may undo it, also after the run has ended.
    compensate: (given) =>
      Effect.flatMap(
        traveller,
        (who) =>
          Effect.flatMap(
            Trips,
            (trips) => trips.remove(who, (given as { readonly trip: string }).trip, kind, text(given as never))
          )
      )
  }).pipe(Tool.onError((call) =>
    call.pipe(
      Recovery.fix("InvalidArgs", fromTrip),
      Effect.catchTag("InvalidArgs", askUser),
      Recovery.escalate("ExecutionError")
    )
  ))

const AddPlace = writes("add_place", "Adds a place to a trip", "place", { place: Schema.String }, ({ place }) => place)
const AddNote = writes("add_note", "Notes something about a trip", "note", { note: Schema.String }, ({ note }) => note)
const BookHotel = writes(
  "book_hotel",
  "Books a hotel for a trip",
  "booking",
  { hotel: Schema.String, nights: Schema.Int },
  ({ hotel, nights }) => `${hotel}, ${nights} nights`
)

/** The first thing that is written to a trip is confirmed by its traveller. After a yes there is no further question. */
const confirmFirstWrite = Policy.make(
  "confirm the first write",
  ({ arguments: given, effects }) =>
    Effect.gen(function*() {
      if (effects !== "write") return Policy.allow
      const trips = yield* Trips
      const { trip } = given as { readonly trip: string }
      return (yield* trips.isConfirmed(yield* traveller, trip))
        ? Policy.allow
        : Policy.requireApproval("This is the first change to this trip.")
    }),
  { mayRequestApproval: true }
)

/** Plans trips with their travellers. */
export const planner = Agent.make("planner", {
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  instructions: "You plan trips. Look trips up; do not guess. Ask for one thing at a time.",
  tools: [ListTrips, ShowTrip, SearchHotels, AddPlace, AddNote, BookHotel],
  policies: [confirmFirstWrite],
  // One after the other: a call that ends the turn then interrupts no other one.
  concurrency: 1,
  onModelError: (error) =>
    error.isRetryable
      ? ModelError.retry({ times: 1, schedule: Schedule.spaced("100 millis") })
      : ModelError.rethrow,
  budget: { turns: 10, toolCalls: 20, allFailureRounds: 3, duration: "2 minutes" }
})
