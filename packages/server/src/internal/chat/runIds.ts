/** Ids of runs: from the names that a client gives, so that a repeated request finds its run. */
import * as Effect from "effect/Effect"
import { sha256 } from "../sha256.ts"

/** The start of a hash of names. */
export const digest = (parts: ReadonlyArray<string>, length: number): Effect.Effect<string> =>
  Effect.map(sha256(JSON.stringify(parts)), (hashed) => hashed.slice(0, length))

/** Prefix of the ids of a thread's runs. */
export const threadPrefix = (owner: string, thread: string): Effect.Effect<string> =>
  Effect.map(digest([owner, thread], 24), (hashed) => `run_${hashed}_`)

/** The id of a run that answers no thread. No client can choose the id of another owner's run. */
export const runIdOf = (parts: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.map(digest(parts, 48), (hashed) => `run_${hashed}`)
