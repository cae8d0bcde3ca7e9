/** Earlier failures of a model turn in the journal of the run, each with the wait behind it. */
import * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { RunLog } from "../run/runLog.ts"
import { atFirstUse } from "../foundation/lazyValue.ts"
import type { ModelFailure } from "../model/modelDecision.ts"
import { countReplayed, usedSince } from "../run/tally.ts"
import { Used } from "../run/used.ts"
import { turnKey } from "../path/entryKeys.ts"
import type { Run } from "../run/run.ts"

const codec = atFirstUse(() => {
  const Wait = Schema.toCodecJson(Schema.Struct({
    error: AiError.AiError,
    at: Schema.Number,
    until: Schema.Number,
    /** True if a listener has received a part of the answer. */
    isHeard: Schema.Boolean,
    /** Usage of the turn at that time. */
    used: Used
  }))
  return { decode: Schema.decodeUnknownOption(Wait), encode: Schema.encodeUnknownEffect(Wait) }
})

/** A failure of an earlier execution. */
export interface EarlierFailure extends ModelFailure {
  readonly until: number
  readonly isHeard: boolean
}

/** Failures of a turn: those that earlier executions have recorded, and the record of those of this one. */
export interface TurnFailures {
  readonly earlier: ReadonlyArray<EarlierFailure>
  /** Records a failure, and when the wait behind it ends. */
  readonly record: (failure: EarlierFailure) => Effect.Effect<void>
}

/**
 * Returns the failures of a turn in earlier executions, with their counts. One of another version that cannot be
 * decoded occurs again.
 */
export const turnFailures = ({ recovery }: RunLog, run: Run, turn: number): TurnFailures => {
  const used = usedSince(run)
  const path = turnKey(run.start.place, turn)
  const earlier = recovery.waitsOf(path).flatMap((stored) => Option.toArray(codec().decode(stored)))
  const last = earlier.at(-1)
  if (last !== undefined) countReplayed(run, last.used)
  return {
    earlier,
    record: (failure) =>
      Effect.flatMap(
        Effect.option(codec().encode({ ...failure, used: used() })),
        Option.match({
          // It occurs again, if the process crashes in the wait.
          onNone: () => Effect.void,
          onSome: (json) => recovery.append(path, json as Schema.Json)
        })
      )
  }
}
