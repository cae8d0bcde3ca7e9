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

/** Returns the counts that have changed, with the differences. */
export const difference = (
  before: Readonly<Record<string, number>>,
  now: Readonly<Record<string, number>>
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(now).map(([key, value]) => [key, value - (before[key] ?? 0)] as const).filter(([, value]) =>
      value !== 0
    )
  )

/** Returns the usage of a part of a run since an earlier time of it. */
export const usedBetween = (
  before: Used | undefined,
  { budget, done, executed, hidden, revoked, usage }: Used
): Used => ({
  usage: difference(before?.usage ?? {}, usage),
  budget: {
    used: difference(before?.budget.used ?? {}, budget.used),
    retries: difference(before?.budget.retries ?? {}, budget.retries),
    extended: difference(before?.budget.extended ?? {}, budget.extended)
  },
  executed: executed.slice(before?.executed.length ?? 0),
  ...(done === undefined ? undefined : {
    done: done.filter(({ id, known }) => !before?.done?.some((write) => write.id === id && write.known === known))
  }),
  ...(revoked === undefined ? undefined : { revoked }),
  hidden
})
