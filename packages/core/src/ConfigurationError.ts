/**
 * Configuration errors: thrown while tools and agents are put together, before anything runs. The program itself is
 * wrong.
 */
import * as Schema from "effect/Schema"

/**
 * A tool, agent or budget that cannot work as declared. `subject` names it; `problem` has the necessary change.
 *
 * @category errors
 * @since 0.2.0
 */
export class ConfigurationError extends Schema.TaggedError<ConfigurationError>()("ConfigurationError", {
  subject: Schema.String,
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.subject}: ${this.problem}`
  }
}
