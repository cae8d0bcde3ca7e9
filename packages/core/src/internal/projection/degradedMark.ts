/** Degraded results: the mark beside an answer that did not come from the tool itself. */
import * as DateTime from "effect/DateTime"
import * as Prompt from "effect/ai/Prompt"

/** Says that an answer did not come from the tool itself: from where, and how old it is. */
export interface Degraded {
  /** Such as `"cache"`. Shown to the model and the user. */
  readonly source: string
  /** The time that the answer is of, where it is not of now. */
  readonly asOf?: DateTime.DateTime | undefined
}

/** A mark as it stands in results and events. */
export interface Mark {
  readonly source: string
  readonly asOf?: string
}

/** One mark for all that an answer is made of: all sources, and the time of the oldest. */
export const markOf = (all: ReadonlyArray<Degraded>): Mark => {
  const times = all.flatMap(({ asOf }) => asOf === undefined ? [] : [DateTime.toEpochMillis(asOf)])
  return {
    source: [...new Set(all.map(({ source }) => source))].join(", "),
    ...(times.length === 0 ? undefined : { asOf: new Date(Math.min(...times)).toISOString() })
  }
}

/** The result for the model of an answer with a mark: the mark beside the answer, so that neither hides the other. */
export const withMark = (
  mark: Mark,
  encoded: unknown,
  modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined
): { readonly encoded: unknown; readonly modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined } => ({
  encoded: { degraded: mark, result: encoded },
  modelOutput: modelOutput && [Prompt.textPart({ text: JSON.stringify({ degraded: mark }) }), ...modelOutput]
})
