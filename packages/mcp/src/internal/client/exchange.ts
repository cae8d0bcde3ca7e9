/** Exchange: state of one call's HTTP request. It distinguishes an unread request from one whose answer was lost. */
import * as Context from "effect/Context"

/** The request of a call. */
export interface Exchange {
  /** True if the request was passed to the HTTP client. */
  isSent: boolean
  /** The status of its response, once there is one. */
  status: number | undefined
}

/** The exchange of the call that runs: set around `callTool`. */
export class CurrentExchange extends Context.Reference<Exchange | undefined>("@recourse/mcp/CurrentExchange", {
  defaultValue: () => undefined
}) {}

/** Makes the exchange of a call that has not been sent. */
export const make = (): Exchange => ({ isSent: false, status: undefined })

/** Statuses of servers that do not know a session. The third one may be about the request, too. */
export const goneStatuses: ReadonlySet<number> = new Set([404, 410, 400])

/** Returns whether the server, which does not know the session any more, has not read the request. */
export const wasNotRead = ({ isSent, status }: Exchange): boolean =>
  !isSent || (status !== undefined && goneStatuses.has(status))
