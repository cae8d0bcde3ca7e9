/** Trips in SQLite: each has an owner, and may be shared. For all others it does not exist. */
import { ErrorProjection } from "@recourse/core"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** There is no such trip, or it belongs to another user: the error does not say which. */
export class NoSuchTrip extends Schema.TaggedError<NoSuchTrip>()(
  "NoSuchTrip",
  { trip: Schema.String },
  ErrorProjection.declare<{ readonly trip: string }>({
    code: "not_found",
    outcome: "not_done",
    model: ({ trip }) => `The user has no trip "${trip}".`,
    user: "There is no such trip."
  })
) {}

export const Trip = Schema.Struct({
  id: Schema.String,
  destination: Schema.String,
  from: Schema.String,
  to: Schema.String,
  places: Schema.Array(Schema.String),
  notes: Schema.Array(Schema.String),
  bookings: Schema.Array(Schema.String)
})

export type Trip = typeof Trip.Type

/** Possible entries of a trip. */
export type Kind = "place" | "note" | "booking"

interface TripRow {
  readonly id: string
  readonly destination: string
  readonly begins: string
  readonly ends: string
}

const tables = [
  "CREATE TABLE IF NOT EXISTS trips (id TEXT PRIMARY KEY, owner TEXT, destination TEXT, begins TEXT, ends TEXT)",
  "CREATE TABLE IF NOT EXISTS shares (trip TEXT, guest TEXT, PRIMARY KEY (trip, guest))",
  "CREATE TABLE IF NOT EXISTS entries (position INTEGER PRIMARY KEY, trip TEXT, kind TEXT, text TEXT)",
  "CREATE TABLE IF NOT EXISTS confirmations (trip TEXT, traveller TEXT, PRIMARY KEY (trip, traveller))"
]

/** Trips of travellers. Each operation says for whom it is. */
export class Trips extends Context.Service<Trips, {
  /** The trips of a traveller, their own and those shared with them; the one that begins first comes first. */
  readonly of: (traveller: string) => Effect.Effect<ReadonlyArray<Trip>>
  readonly get: (traveller: string, trip: string) => Effect.Effect<Trip, NoSuchTrip>
  readonly add: (traveller: string, trip: string, kind: Kind, text: string) => Effect.Effect<Trip, NoSuchTrip>
  /** Removes the newest entry of this kind and text. */
  readonly remove: (traveller: string, trip: string, kind: Kind, text: string) => Effect.Effect<void, NoSuchTrip>
  /** True if a traveller has allowed writes to a trip. */
  readonly isConfirmed: (traveller: string, trip: string) => Effect.Effect<boolean>
  readonly make: (trip: {
    readonly id: string
    readonly owner: string
    readonly destination: string
    readonly from: string
    readonly to: string
    readonly guests?: ReadonlyArray<string>
    readonly places?: ReadonlyArray<string>
  }) => Effect.Effect<void>
}>()("travel-chat/Trips") {}

export const layer: Layer.Layer<Trips, SqlError.SqlError, SqlClient.SqlClient> = Layer.effect(
  Trips,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const table of tables) yield* sql.unsafe(table)
    const whole = (row: TripRow) =>
      Effect.map(
        sql<{ readonly kind: Kind; readonly text: string }>`
          SELECT kind, text FROM entries WHERE trip = ${row.id} ORDER BY position`,
        (entries): Trip => {
          const of = (kind: Kind) => entries.flatMap((entry) => entry.kind === kind ? [entry.text] : [])
          const { begins: from, destination, ends: to, id } = row
          return { id, destination, from, to, places: of("place"), notes: of("note"), bookings: of("booking") }
        }
      )
    const rows = (traveller: string) =>
      sql<TripRow>`
        SELECT id, destination, begins, ends FROM trips
        WHERE owner = ${traveller} OR id IN (SELECT trip FROM shares WHERE guest = ${traveller}) ORDER BY begins`
    const get = (traveller: string, trip: string) =>
      Effect.flatMap(Effect.orDie(rows(traveller)), (found) => {
        const row = found.find(({ id }) => id === trip)
        return row === undefined ? Effect.fail(new NoSuchTrip({ trip })) : Effect.orDie(whole(row))
      })
    return {
      of: (traveller) => Effect.orDie(Effect.flatMap(rows(traveller), Effect.forEach(whole))),
      get,
      add: (traveller, trip, kind, text) =>
        Effect.gen(function*() {
          yield* get(traveller, trip)
          yield* Effect.orDie(sql.withTransaction(Effect.gen(function*() {
            yield* sql`INSERT INTO entries (trip, kind, text) VALUES (${trip}, ${kind}, ${text})`
            yield* sql`INSERT OR IGNORE INTO confirmations (trip, traveller) VALUES (${trip}, ${traveller})`
          })))
          return yield* get(traveller, trip)
        }),
      remove: (traveller, trip, kind, text) =>
        Effect.andThen(
          get(traveller, trip),
          Effect.orDie(sql`DELETE FROM entries WHERE position =
            (SELECT MAX(position) FROM entries WHERE trip = ${trip} AND kind = ${kind} AND text = ${text})`)
        ),
      isConfirmed: (traveller, trip) =>
        Effect.orDie(Effect.map(
          sql`SELECT 1 FROM confirmations WHERE trip = ${trip} AND traveller = ${traveller}`,
          (found) => found.length > 0
        )),
      make: ({ destination, from, guests = [], id, owner, places = [], to }) =>
        Effect.orDie(Effect.gen(function*() {
          yield* sql`INSERT OR IGNORE INTO trips VALUES (${id}, ${owner}, ${destination}, ${from}, ${to})`
          for (const guest of guests) yield* sql`INSERT OR IGNORE INTO shares VALUES (${id}, ${guest})`
          const known = yield* sql`SELECT 1 FROM entries WHERE trip = ${id}`
          if (known.length > 0) return
          for (const place of places) {
            yield* sql`INSERT INTO entries (trip, kind, text) VALUES (${id}, 'place', ${place})`
          }
        }))
    }
  })
)
