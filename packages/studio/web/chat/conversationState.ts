/** State of a conversation besides its messages. */
import { RequestFailed } from "../shared/api.ts"
import type { QueuedMessage } from "./queue.ts"

/** A fault, with a reference for an operator. */
export interface Problem {
  readonly text: string
  readonly reference: string | undefined
}

export const problemOf = (error: unknown): Problem => ({
  text: (error as Error).message,
  reference: error instanceof RequestFailed ? error.traceId : undefined
})

/** A decision that the server did not take. Why it does not fit is for who writes pages. */
export const decisionProblem = (error: unknown): Problem =>
  error instanceof RequestFailed && error.status === 422
    ? { text: "This question is over: it was answered elsewhere, or withdrawn.", reference: undefined }
    : problemOf(error)

export const isNetworkError = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof RequestFailed && error.status === 0)

const waits = [1000, 2000, 4000, 8000, 15_000]

/** Wait of a page before its next try to reach an unreachable server, by the number of tries. */
export const waitBefore = (tries: number): number => waits[Math.min(tries, waits.length - 1)]!

/** State of a conversation besides its messages. */
export interface State {
  readonly load: "loading" | "ready" | "missing" | { readonly problem: Problem }
  readonly title: string | undefined
  readonly isOffline: boolean
  readonly isStopping: boolean
  /** A run is active for which this tab has no stream: it polls. */
  readonly isPolling: boolean
  /** Messages that are sent when the agent is done. */
  readonly queued: ReadonlyArray<QueuedMessage>
  /** The id of a message that the server did not take. */
  readonly unsent: string | undefined
  readonly problem: Problem | undefined
  /** The page's text while the model has trouble. */
  readonly trouble: string | undefined
}

export const initial: State = {
  load: "ready",
  title: undefined,
  isOffline: false,
  isStopping: false,
  isPolling: false,
  queued: [],
  unsent: undefined,
  problem: undefined,
  trouble: undefined
}

/** The state behind a failed load. `unsent`: the message that the server may not have taken. */
export const afterFailedLoad = (error: unknown, state: State, unsent: string | undefined): Partial<State> => {
  if (error instanceof RequestFailed && error.status === 404) {
    // A thread whose first message was not taken is not there yet.
    return { isOffline: false, ...(unsent === undefined ? { load: "missing" } : { unsent }) }
  }
  const problem = problemOf(error)
  return state.load === "ready" ? { problem } : { load: { problem } }
}
