/** Failure of a store of durable runs. */
import * as Schema from "effect/Schema"

/**
 * A store could not be read or written.
 *
 * @category errors
 * @since 0.2.0
 */
export class RunStoreError extends Schema.TaggedError<RunStoreError>()("RunStoreError", {
  operation: Schema.String,
  reason: Schema.Defect()
}) {
  override get message(): string {
    if (this.operation === "check format") {
      return "The tables of durable runs have rows of a later version of @recourse/durable, which this one cannot read: start that version again, or restore a backup from before it"
    }
    return this.operation === "check tables"
      ? "The tables of durable runs are not there, or of another version: make them as RunStore.createTableSql says, in a migration"
      : `The store of durable runs failed: ${this.operation}`
  }
}
