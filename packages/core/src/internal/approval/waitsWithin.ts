/** What waits within a call, as data: and whether something was done there before. */
import type { NestedRun, WaitingWithin } from "./snapshot.ts"

/** What waits within a call: an agent that is its tool, or a call that its tool makes. */
export interface WaitsWithin {
  readonly nested?: NestedRun | undefined
  readonly within?: WaitingWithin | undefined
}

/** Whether something was done within a call that waits: by the tool, or by the agent that is the tool. */
export const isDoneInPart = ({ nested, within }: WaitsWithin): boolean =>
  nested?.doneInPart === true || within?.begun?.some(({ outcome }) => outcome !== undefined) === true
