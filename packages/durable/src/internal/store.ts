/** Interface of stores of durable runs: a host, a log and lists. */
import type { Host } from "./host/host.ts"
import type { RunLists } from "./lists.ts"
import type { RunLog } from "./log.ts"

export type {
  Asked,
  Claimable,
  HeldRun,
  Host,
  Leaving,
  Queue,
  Settlement,
  StoredDecision,
  Take,
  Taken,
  WakeUp
} from "./host/host.ts"
export type { Count, RunLists } from "./lists.ts"
export { type Appended, type Committed, denied, type Loaded, type MessagePart, type RunLog, type Step } from "./log.ts"
export type { Hold, NewRun, StartedRun, StoredRun } from "./storedRun.ts"
export { RunStoreError } from "./storeError.ts"

/** Operations of a store. */
export interface Store extends Host, RunLog, RunLists {}
