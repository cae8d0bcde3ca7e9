/** Outcome of a compensation: of the write of a run that was to be compensated. */
import * as Schema from "effect/Schema"
import { NotCompensated } from "../../../ToolError.ts"
import type { CompensatedMark } from "../../run/transcript.ts"

export type Because = NotCompensated["because"]

/** Outcome of a write's compensation. */
export type Fate =
  | { readonly outcome: "undone" | "not_happened" }
  | {
    readonly outcome: "not_undone"
    readonly because: Because
    /** The name of the reason. */
    readonly error?: string
    readonly reason?: unknown
  }

export const notCompensatedFate = (because: Because): Fate => ({ outcome: "not_undone", because })

/** State of a write whose compensation has started. A failed or unanswered one may have done its work. */
export const markOf = (fate: Fate): CompensatedMark | undefined => {
  if (fate.outcome !== "not_undone") return fate.outcome === "undone" ? "undone" : undefined
  return fate.because === "failed" || fate.because === "timeout" ? "may_be_undone" : undefined
}

/** Public part of an outcome: its reason is only for the receiver of the report. */
export const reportOf = (fate: Fate) => ({
  outcome: fate.outcome,
  ...("because" in fate ? { because: fate.because } : undefined),
  ...("error" in fate ? { error: fate.error } : undefined)
})

/** An outcome in the journal of a run. */
const Recorded = Schema.Struct({
  outcome: Schema.Literals(["undone", "not_happened", "not_undone"]),
  because: Schema.optionalKey(NotCompensated.fields.because),
  error: Schema.optionalKey(Schema.String)
})
export const readFate = Schema.decodeUnknownOption(Recorded)
