/** Client calls: what a tool that the page executes declares, and what the page gives in place of a result. */

/** A tool that the page executes. */
export interface ClientInfo {
  readonly effects: "read" | "idempotent" | "write" | undefined
  /** How long the page may take, in milliseconds. */
  readonly timeout: number | undefined
  /** Of a tool that the request of the run has declared: the sources of what the same page has said. */
  readonly page?: ReadonlySet<string> | undefined
}

/** The failure that a page gave for a call of a client tool, or none in time. */
export interface ClientFailure {
  readonly error: unknown
  readonly isLate: boolean
}
