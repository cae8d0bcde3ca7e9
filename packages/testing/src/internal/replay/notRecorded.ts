/** Defect of a replay that needs an answer without a record. */
import { Schema } from "effect"

/** The replay requested an answer that the recording does not contain; the difference has its position. */
export class NotRecorded extends Schema.TaggedError<NotRecorded>()("NotRecorded", { what: Schema.String }) {
  override get message(): string {
    return `Not in the recording: ${this.what}`
  }
}
