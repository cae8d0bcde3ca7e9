/** Client calls: declaration of a tool that the page executes, and the page's answer instead of a result. */

/** A tool that the page executes. */
export interface ClientInfo {
  readonly effects: "read" | "idempotent" | "write" | undefined
  /** Time limit of the page, in milliseconds. */
  readonly timeout: number | undefined
  /** For a tool declared by the run's request: the sources of the same page's texts. */
  readonly page?: ReadonlySet<string> | undefined
}

/** The failure that a page gave for a call of a client tool, or none in time. */
export interface ClientFailure {
  readonly error: unknown
  readonly isLate: boolean
}
