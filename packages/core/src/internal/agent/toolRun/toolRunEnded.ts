/** Error of calls of a run that has ended. */
import * as Schema from "effect/Schema"

/**
 * No call starts: the run has ended, or has been cancelled. `because` is the end of the run.
 *
 * @category errors
 * @since 0.2.0
 */
export class ToolRunEnded extends Schema.TaggedError<ToolRunEnded>()("ToolRunEnded", {
  run: Schema.String,
  runId: Schema.String,
  because: Schema.Literals(["ended", "cancelled", "failed"])
}) {
  override get message(): string {
    return `No call of run "${this.runId}" starts: "${this.run}" ${
      this.because === "failed" ? "has failed with the error of another call" : `was ${this.because}`
    }`
  }
}
