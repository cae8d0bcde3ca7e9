/**
 * The claim of a key by an entry of a run's log: equal in each execution, and of no other run. A run that starts with
 * the id of a purged one is another run.
 */
import * as Hash from "effect/Hash"
import type { StoredRun } from "../store/store.ts"

/** A text of 32 characters. */
const hashed = (text: string): string =>
  [0, 1, 2, 3].map((n) => (Hash.string(`${n} ${text}`) >>> 0).toString(16).padStart(8, "0")).join("")

/** The claim of an entry. */
export const claimOf = ({ runId, startedAt }: Pick<StoredRun, "runId" | "startedAt">, entry: string): string =>
  `${hashed(`${startedAt} ${runId}`)}${entry.slice(0, 32)}`
