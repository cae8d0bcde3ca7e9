/** Waits of a call in the journal of a run, with the failed attempts before them. */
import * as Schema from "effect/Schema"
import { Declared } from "../../../ToolError.ts"
import { Used } from "../../run/used.ts"

/** A failed attempt as it is stored. */
export const Failed = Schema.Struct({
  attempt: Schema.Int,
  error: Schema.Literals(["ExecutionError", "Timeout", "OutcomeUnknown"]),
  /** As the list of failed attempts has it. */
  cause: Schema.String,
  reason: Schema.optionalKey(Schema.Json),
  declared: Schema.optionalKey(Declared),
  /** Milliseconds. */
  after: Schema.optionalKey(Schema.Number),
  underKey: Schema.optionalKey(Schema.Literal(true)),
  repeatable: Schema.optionalKey(Schema.Literal(true)),
  at: Schema.Number,
  startedAt: Schema.Number,
  executed: Schema.Boolean,
  happened: Schema.Literals(["no", "unknown", "yes"])
})

/** A failed attempt as it is stored. */
export type Failed = typeof Failed.Type

/** A wait, and the attempts that failed before it. */
export const Wait = Schema.Struct({
  tool: Schema.String,
  /** The last attempt before the wait. */
  behind: Schema.Int,
  /** When the wait began and ends, in milliseconds since the epoch. */
  at: Schema.Number,
  until: Schema.Number,
  /** Attempts that failed since the wait before. */
  failed: Schema.Array(Failed),
  /** The call's usage at that time. */
  used: Schema.optionalKey(Used)
})

/** A wait that an earlier execution started. */
export interface EarlierWait {
  /** Absent if it followed no attempt. */
  readonly at: number | undefined
  readonly until: number
}

/** Entries of earlier executions about a call. */
export interface Earlier {
  readonly failed: Map<number, Failed>
  readonly waits: ReadonlyMap<number, EarlierWait>
  /** The call's usage at the last of them; `undefined` once it is counted. */
  used: Used | undefined
  /**
   * The last attempt that this has counted. Each later attempt counts itself, and so do those of calls without a model.
   */
  readonly talliedUpTo: number
  /** Number of waits. */
  readonly count: number
}
