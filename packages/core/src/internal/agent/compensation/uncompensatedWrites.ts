/** Uncompensated writes: the compensable writes of a run in its snapshot and its journal. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Journal } from "../../../Journal.ts"
import { CompensationLog } from "../../run/writes/compensationLog.ts"
import { idWithin } from "../../path/path.ts"

/**
 * A started write that is not known to be compensated, or not to have happened.
 *
 * @category models
 * @since 0.2.0
 */
export interface UncompensatedWrite {
  readonly tool: string
  /** The call, and the calls of agents around it. */
  readonly callId: string
  readonly arguments: Schema.Json
}

/** Read loosely: a write that a later version has written counts, too. */
const Done = Schema.Struct({
  id: Schema.String,
  tool: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("unknown"))),
  callId: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("unknown"))),
  arguments: Schema.Json.pipe(Schema.withDecodingDefaultKey(Effect.succeed(null)))
})

const Nested = Schema.Struct({ callId: Schema.optionalKey(Schema.String), snapshot: Schema.Unknown })

const Snapshot = Schema.Struct({
  done: Schema.optionalKey(Schema.Array(Done)),
  steps: Schema.optionalKey(Schema.Unknown),
  round: Schema.optionalKey(Schema.Struct({ nested: Schema.optionalKey(Schema.Array(Nested)) }))
})

const decode = Schema.decodeUnknownOption(Snapshot)

/** Returns the writes of a run, and its waiting inner agents. Those that are steps of an agent wait within no call. */
const writesIn = (snapshot: unknown): ReadonlyArray<typeof Done.Type> =>
  Option.match(decode(snapshot), {
    onNone: () => [],
    onSome: ({ done = [], round, steps }) => [
      ...done,
      ...(round?.nested ?? []).flatMap(({ callId, snapshot }) => {
        const within = writesIn(snapshot)
        return callId === undefined || steps !== undefined
          ? within
          : within.map((write) => ({ ...write, callId: idWithin(callId, write.callId) }))
      })
    ]
  })

/**
 * Returns the writes of a run that its tools can compensate and that are not known to be compensated: those of its
 * snapshot, and those of the journal since. Engines of durable runs use it to decide if an abandoned run has to be
 * compensated, and to report the remaining writes.
 *
 * @category getters
 * @since 0.2.0
 */
export const uncompensatedWrites = (
  { journal, snapshot }: { readonly snapshot?: unknown; readonly journal?: Journal | undefined }
): ReadonlyArray<UncompensatedWrite> => {
  const writes = new Map<string, typeof Done.Type>(writesIn(snapshot).map((write) => [write.id, write]))
  const log = journal && new CompensationLog(journal)
  for (const write of log?.unsettled(1) ?? []) writes.set(write.id, write)
  const left = [...writes.values()].filter(({ id }) => log?.outcomeOf(id) === undefined)
  return left.map(({ arguments: args, callId, tool }) => ({ tool, callId, arguments: args }))
}
