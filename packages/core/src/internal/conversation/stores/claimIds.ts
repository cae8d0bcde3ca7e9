/** Claim ids: each begins with a hash of its run, so that a process which knows the run recognises a claim that was made for it. */
import * as Effect from "effect/Effect"
import { hashOf, randomId } from "../../foundation/digest.ts"

/** Claimant of a thread: the run, if its id is known, and whether that run has ended already. */
interface Claimant {
  readonly runId?: string | undefined
  readonly takeOver?: boolean | undefined
}

const prefixOf = (runId: string): Effect.Effect<string> => Effect.map(hashOf([runId]), (hashed) => hashed.slice(0, 24))

/** Returns a new claim id, of at most 61 characters. */
export const newClaimId = ({ runId, takeOver }: Claimant): Effect.Effect<string> =>
  runId === undefined
    ? randomId
    : Effect.zipWith(prefixOf(runId), randomId, (prefix, id) => `${prefix}${takeOver === true ? "+" : "."}${id}`)

/** Returns whether a claim was made for a run. */
export const isClaimOf = (claim: string, runId: string): Effect.Effect<boolean> =>
  Effect.map(prefixOf(runId), (prefix) => claim.startsWith(`${prefix}.`) || claim.startsWith(`${prefix}+`))

/** Returns whether a claim was made to store the end of a run in place of the process that started it. */
export const isTakenOver = (claim: string, runId: string): Effect.Effect<boolean> =>
  Effect.map(prefixOf(runId), (prefix) => claim.startsWith(`${prefix}+`))
