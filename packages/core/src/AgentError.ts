/** Errors that end an agent's run, besides those that its tools leave. */
import * as Schema from "effect/Schema"
import type * as AiError from "effect/ai/AiError"
import type { BudgetExceeded } from "./Budget.ts"
import { Issue } from "./ToolError.ts"

/** Paths at which a value does not fit, with the expectations there: the first three. */
const places = (issues: ReadonlyArray<Issue>): string => {
  const named = issues.slice(0, 3).map(({ expected, path }) =>
    path.length === 0 ? expected : `${path.join(".")}: ${expected}`
  )
  return `${named.join("; ")}${issues.length > 3 ? `; and ${issues.length - 3} more` : ""}`
}

/**
 * The input does not fit the agent's `input` schema. The model was not called. With an `operation`, another argument
 * does not fit, such as an id or a limit: no record was written.
 *
 * @category errors
 * @since 0.2.0
 */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  /** Empty if the operation is not about one agent. */
  agent: Schema.String,
  /** The operation, if the refused value is not the input: `start`, `list`, `events`, `send`. */
  operation: Schema.optionalKey(Schema.String),
  issues: Schema.Array(Issue)
}) {
  override get message(): string {
    const { agent, issues, operation } = this
    return operation === undefined
      ? `The input of agent "${agent}" does not fit its schema: ${places(issues)}`
      : `\`${operation}\` refuses its arguments: ${places(issues)}`
  }
}

/**
 * The model's final answer does not fit the agent's `output` schema, and neither did its one correction.
 *
 * @category errors
 * @since 0.2.0
 */
export class InvalidOutput extends Schema.TaggedError<InvalidOutput>()("InvalidOutput", {
  agent: Schema.String,
  issues: Schema.Array(Issue)
}) {
  override get message(): string {
    return `The answer of agent "${this.agent}" does not fit its output schema: ${places(this.issues)}`
  }
}

/**
 * No single skill of the agent could be chosen: none was named, several were, or one that it does not have.
 *
 * @category errors
 * @since 0.2.0
 */
export class SkillNotChosen extends Schema.TaggedError<SkillNotChosen>()("SkillNotChosen", {
  agent: Schema.String,
  reason: Schema.Literals(["none", "ambiguous", "unknown"]),
  chosen: Schema.Array(Schema.String),
  available: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `Agent "${this.agent}" could not choose a skill (${this.reason}): available are ${this.available.join(", ")}`
  }
}

/**
 * Errors that end an agent's run: of the model, of a budget, or of input and output that do not fit. The type of an
 * agent names only the possible ones. Without `input`, `output` and `skills` it fails with `AiError` and
 * `BudgetExceeded`.
 *
 * @category errors
 * @since 0.2.0
 */
export type AgentError = AiError.AiError | BudgetExceeded | InvalidInput | InvalidOutput | SkillNotChosen
