/** Gate of an agent: the agent's rules for its calls before they run. */
import type * as Prompt from "effect/ai/Prompt"
import type { Any as Policy, EarlierCall } from "../../Policy.ts"

/** View of the policies of an agent on the calls of its run. */
export interface CallLogOf<Call> {
  /** Grows with each call that is let on. */
  readonly version: number
  /** The calls of the run besides this one. */
  readonly before: (record: Call) => ReadonlyArray<EarlierCall>
  /** Adds an admitted call, until its execution is in the record of the run. */
  readonly admit: (record: Call, args: unknown) => void
  /** Removes the admitted calls within a call that has ended. */
  readonly end: (root: Call) => void
}

/** An agent's rules for its calls before they run. */
export interface GateOf<Call> {
  /** Policies for a call whose arguments may hold the words of these untrusted tools. */
  readonly policies: (taintedBy: ReadonlyArray<string>) => ReadonlyArray<Policy>
  readonly runId: string
  readonly path: ReadonlyArray<string>
  /** Untrusted tools that the run has read. */
  readonly taintedBy: () => ReadonlyArray<string>
  /** True if a waiting call can be stored: the run may wait, and there is a key for its snapshot. */
  readonly canKeep: boolean
  /** The conversation so far, the answer with the call included. */
  readonly messages: () => ReadonlyArray<Prompt.Message>
  /** The calls of the run that were let on. */
  readonly log: CallLogOf<Call>
}
