/** Degraded results: the mark of an answer that did not come from the tool itself. */
import * as DateTime from "effect/DateTime"
import * as Prompt from "effect/ai/Prompt"

/**
 * Mark of an answer that did not come from the tool itself: its source and its age.
 *
 * @category models
 * @since 0.2.0
 */
export interface Degraded {
  /** Such as `"cache"`. Shown to the model and the user. */
  readonly source: string
  /** The time of the answer, if it is not current. */
  readonly asOf?: DateTime.DateTime | undefined
}

/**
 * A {@link Degraded} in results and events: its time in ISO 8601.
 *
 * @category models
 * @since 0.2.0
 */
export interface DegradedMark {
  readonly source: string
  readonly asOf?: string
}

/** One mark for all that an answer is made of: all sources, and the time of the oldest. */
export const markOf = (all: ReadonlyArray<Degraded>): DegradedMark => {
  const times = all.flatMap(({ asOf }) => asOf === undefined ? [] : [DateTime.toEpochMillis(asOf)])
  return {
    source: [...new Set(all.map(({ source }) => source))].join(", "),
    ...(times.length === 0 ? undefined : { asOf: new Date(Math.min(...times)).toISOString() })
  }
}

/** Marks of an answer that the model reads: its other source, or that it is in place of an unknown outcome. */
export interface AnswerMarks {
  readonly degraded?: DegradedMark
  readonly outcome_unknown?: string
}

/**
 * The model's result of a marked answer: the marks and the answer in separate fields, so that neither hides the other.
 */
export const withMarks = (
  marks: AnswerMarks,
  encoded: unknown,
  modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined
): { readonly encoded: unknown; readonly modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined } => ({
  encoded: { ...marks, result: encoded },
  modelOutput: modelOutput && [Prompt.textPart({ text: JSON.stringify(marks) }), ...modelOutput]
})
