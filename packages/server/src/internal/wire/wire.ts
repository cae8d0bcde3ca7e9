/** Wire: a form in which clients read the events of a run. */
import type { AgentEvent } from "@recourse/core/AgentEvent"

/** Turns the events of one run, in order, into the texts of a wire. */
export interface Mapper {
  readonly next: (event: AgentEvent, number: number) => ReadonlyArray<string>
  /** The end of a run whose events stop before theirs: the process that ran it is gone. */
  readonly cut: (at: number) => ReadonlyArray<string>
}

/** A wire: how it is named, and who maps the events of a run to it. */
export interface Wire {
  /** Two wires of one name map the same events to the same texts. */
  readonly name: string
  /** Last text of a response whose run outlives the server. */
  readonly restart: string
  /** `questionOf` gives the id of a question about a call that waits. */
  readonly mapper: (questionOf: (callId: string) => string) => Mapper
}
