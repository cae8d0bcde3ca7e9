/** Usage of a part of a run in its stored form: a run that replays the part counts the same. */
import * as Schema from "effect/Schema"
import { CompensableWrite } from "./writes/completedWrites.ts"

const Counts = Schema.Record(Schema.String, Schema.Number)

/** Usage of a part of a run, in its stored form. */
export const Used = Schema.Struct({
  usage: Counts,
  budget: Schema.Struct({ used: Counts, retries: Counts, extended: Counts }),
  executed: Schema.Array(Schema.Json),
  done: Schema.optionalKey(Schema.Array(CompensableWrite)),
  revoked: Schema.optionalKey(Schema.Array(Schema.String)),
  hidden: Counts
})

/** Usage of a part of a run, in its stored form. */
export type Used = typeof Used.Type
