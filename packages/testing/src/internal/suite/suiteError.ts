/** Error of a suite that cannot be run on its subject. */
import { Schema } from "effect"

/**
 * The suite cannot be run on the subject. No case was run.
 *
 * @category errors
 * @since 0.2.0
 */
export class SuiteError extends Schema.TaggedError<SuiteError>()("SuiteError", {
  problem: Schema.Literals([
    "not a suite",
    "unknown fault",
    "invalid fault",
    "unknown tool",
    "unknown store",
    "tool and store",
    "unknown callback",
    "callback of no tool",
    "unknown expectation",
    "unknown scenario",
    "duplicate id"
  ]),
  /** The case, if it is one that is wrong. */
  case: Schema.optionalKey(Schema.String),
  /** The unknown name, or the faulty part. */
  subject: Schema.String,
  /** Known names. */
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return [
      this.case === undefined ? "" : `case "${this.case}": `,
      `${this.problem}: ${this.subject}`,
      this.known.length === 0 ? "" : ` (known are ${this.known.join(", ")})`
    ].join("")
  }
}

/** Makes the error of a problem with a subject; `id` is the case. */
export const suiteError = (
  problem: SuiteError["problem"],
  subject: string,
  known: Iterable<string> = [],
  id?: string
): SuiteError =>
  new SuiteError({ problem, subject, known: [...known], ...(id === undefined ? undefined : { case: id }) })
