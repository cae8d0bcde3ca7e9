/** Starts of attempts as the journal of a run has them: every attempt that is not a read has an entry before its executor runs. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Journal } from "../../Journal.ts"
import { writeField } from "../path/entryKeys.ts"

const Entry = Schema.Struct({
  tool: Schema.String,
  /** Milliseconds since the epoch. */
  at: Schema.Number,
  path: Schema.String,
  attempt: Schema.Int,
  effects: Schema.optionalKey(Schema.String),
  key: Schema.optionalKey(Schema.String),
  failed: Schema.optionalKey(Schema.Json),
  [writeField]: Schema.optionalKey(Schema.Struct({ isAtomic: Schema.optionalKey(Schema.Literal(true)) }))
})

/** Start entry of an attempt. */
export type StartEntry = Omit<typeof Entry.Type, typeof writeField> & { readonly [writeField]?: Schema.Json }

/** Start of an attempt that an earlier execution has appended. */
export interface RecordedStart {
  /** The key of its entry. A `child` entry of the same key has its outcome, if there is one. */
  readonly entry: string
  /** The number of the attempt, from 1 on. `first`: the first attempt that has executed, whatever its number. */
  readonly attempt: number | "first"
  /** The id of its entry in the ledger. `call`: an older version has not stored it; if the attempt had a key, that was the key of its call. */
  readonly key: string | undefined
  /** True if the tool may be called again without a key. */
  readonly isRepeatable: boolean
  /** True if the start is stored together with the outcome, or not at all. */
  readonly isAtomic: boolean
}

/** The key of a start whose entry does not say under which key of the ledger it ran: the key of the call, if it had one. */
export const keyOfCall = "call"

/**
 * Entries of older versions: plain writes without a path, own keys before they were claimed, and `true` for each other
 * start within a call.
 */
const OldEntry = Schema.Struct({ tool: Schema.String, at: Schema.Number })

const decode = Schema.decodeUnknownOption(Entry)
const decodeOld = Schema.decodeUnknownOption(OldEntry)

const ownKeys = "key "

/** A start with the path of its call. */
export interface FoundStart {
  readonly path: string
  readonly start: RecordedStart
  /** Attempts that failed since the entry before, in stored form. */
  readonly failed?: Schema.Json | undefined
}

const old = { key: undefined, isRepeatable: false, isAtomic: false }

/** The start in an entry of an older version, which is found by its key. */
const oldStart = (entry: string, value: Schema.Json): FoundStart | undefined => {
  const [, path, number] = /^(.*)[@/](\d+)$/s.exec(entry) ?? []
  const attempt = Number(number)
  if (path !== undefined && value === true) {
    return { path, start: { ...old, entry, attempt, key: keyOfCall, isRepeatable: true } }
  }
  if (path !== undefined && typeof value === "string" && path.startsWith(ownKeys)) {
    return { path: path.slice(ownKeys.length), start: { ...old, entry, attempt, key: value } }
  }
  if (Option.isNone(decodeOld(value))) return undefined
  return path !== undefined && entry.at(-1 - number!.length) === "@"
    ? { path, start: { ...old, entry, attempt } }
    : { path: entry, start: { ...old, entry, attempt: "first" } }
}

/** Returns the starts that earlier executions have appended, with the paths of their calls. */
export function* startsIn(journal: Journal): Generator<FoundStart> {
  for (const [entry, value] of journal.entries("write")) {
    const start = Option.getOrUndefined(decode(value))
    const found = start === undefined ? oldStart(entry, value) : {
      path: start.path,
      failed: start.failed,
      start: {
        entry,
        attempt: start.attempt,
        key: start.key,
        isRepeatable: start.effects === "idempotent",
        isAtomic: start[writeField]?.isAtomic === true
      }
    }
    if (found !== undefined) yield found
  }
}
