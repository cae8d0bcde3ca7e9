/** Missing arguments of a call that the trip knows are filled in. For the others, the agent asks the user. */
import { Agent, Catalogue, Recovery, Runs, type ToolCall, type ToolError } from "@recourse/core"
import { Effect, Layer, Schema } from "effect"
import { Trips } from "./trips.ts"

/** The sentences of Recourse, and this office's sentence about an unknown argument. */
export const texts: Layer.Layer<never> = Layer.succeed(Catalogue.Catalogue, {
  en: {
    ...Catalogue.en,
    missing_required_field: "Please tell me more: which trip, place, hotel or note do you mean?"
  }
})

const missingIn = ({ issues }: ToolError.InvalidArgs): ReadonlyArray<string> =>
  issues.flatMap(({ path, problem }) => problem === "missing" && path.length === 1 ? [String(path[0])] : [])

const Arguments = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/** Fills in the trip, if the traveller has only one, and the city: the first place of the trip, else its destination. */
export const fromTrip = Agent.fromFunction(
  "trip",
  ({ arguments: text, error }: Recovery.FixRequest<ToolError.InvalidArgs>) =>
    Effect.gen(function*() {
      const missing = missingIn(error)
      const owner = yield* Runs.Owner
      const trips = yield* (yield* Trips).of(owner ?? "")
      const given = yield* Effect.orElseSucceed(Schema.decodeEffect(Arguments)(text), () => ({}))
      const named = trips.find(({ id }) => "trip" in given && id === given.trip)
      const trip = named ?? (trips.length === 1 ? trips[0] : undefined)
      if (trip === undefined) return Recovery.declined
      const known: Readonly<Record<string, string>> = { trip: trip.id, city: trip.places[0] ?? trip.destination }
      if (missing.length === 0 || !missing.every((field) => Object.hasOwn(known, field))) return Recovery.declined
      return JSON.stringify({ ...given, ...Object.fromEntries(missing.map((field) => [field, known[field]])) })
    })
)

/** A call that still lacks something ends the turn with that sentence. Other arguments that do not fit are the model's to correct. */
export const askUser = (
  error: ToolError.InvalidArgs
): Effect.Effect<never, ToolError.InvalidArgs | ToolError.Escalation, ToolCall.ToolCall> =>
  missingIn(error).length > 0
    ? Effect.fail(error)
    : Effect.fail(error).pipe(Recovery.escalate("InvalidArgs"))
