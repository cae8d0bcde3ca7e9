/** Interface of stores of durable runs: a host, a log and lists. */
import type { Host } from "./host.ts"
import type { RunLists } from "./runLists.ts"
import type { RunLog } from "./log.ts"

export type {
  Claimable,
  Host,
  LeasedRun,
  Leaving,
  Queue,
  Reminder,
  Settlement,
  StoredDecision,
  Take,
  Taken,
  WakeUp
} from "./host.ts"
export {
  type Appended,
  type Committed,
  denied,
  type MessagePart,
  type RunHistory,
  type RunLog,
  type Step
} from "./log.ts"
export type { Count, RunLists } from "./runLists.ts"
export type { Lease, NewRun, StartedRun, StoredRun } from "./storedRun.ts"
export { RunStoreError } from "./storeError.ts"

/**
 * Operations of a store.
 *
 * @category models
 * @since 0.2.0
 */
export interface Store extends Host, RunLog, RunLists {}
