/** Left to undo: the writes of a run that can be undone, as they stand in its snapshot and its journal. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Journal } from "../../Journal.ts"
import { begunIn, hasFate } from "../run/begunWrites.ts"

/** A write that was begun, and that is not known to be undone, or not to have happened. */
export interface LeftToUndo {
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

const Snapshot = Schema.Struct({
  done: Schema.optionalKey(Schema.Array(Done)),
  round: Schema.optionalKey(
    Schema.Struct({ nested: Schema.optionalKey(Schema.Array(Schema.Struct({ snapshot: Schema.Unknown }))) })
  )
})

const decode = Schema.decodeUnknownOption(Snapshot)

const doneIn = (snapshot: unknown): ReadonlyArray<typeof Done.Type> =>
  Option.match(decode(snapshot), {
    onNone: () => [],
    onSome: ({ done = [], round }) => [
      ...done,
      ...(round?.nested ?? []).flatMap((nested) => doneIn(nested.snapshot))
    ]
  })

/**
 * The writes of a run that its tools can undo and that nobody is known to have undone: of the snapshot that it goes on from, and of the journal that it has written
 * since. For engines of durable runs, which have to know whether a run that nobody goes on with is to be undone, and what is left of one that cannot be.
 */
export const leftToUndo = (
  { journal, snapshot }: { readonly snapshot?: unknown; readonly journal?: Journal | undefined }
): ReadonlyArray<LeftToUndo> => {
  const writes = new Map<string, typeof Done.Type>(doneIn(snapshot).map((write) => [write.id, write]))
  for (const write of journal === undefined ? [] : begunIn(journal)) writes.set(write.id, write)
  const left = [...writes.values()].filter(({ id }) => journal === undefined || !hasFate(journal, id))
  return left.map(({ arguments: args, callId, tool }) => ({ tool, callId, arguments: args }))
}
