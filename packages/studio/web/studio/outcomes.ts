/** Outcomes of calls that need a person: those that are unknown, and those that could not be compensated. */
import type { CallOutcome, Timeline } from "@recourse/server/RunTimeline"

/** True if a person has to check a call: it may have happened, or its compensation was due and is missing. */
export const isOpen = ({ state }: CallOutcome): boolean => state === "unknown" || state === "not_undone"

/** The calls of a run that a person has to look at. */
export const openOutcomes = ({ outcomes }: Pick<Timeline, "outcomes">): ReadonlyArray<CallOutcome> =>
  outcomes.filter(isOpen)

/** Those calls in a few words, for a badge; `undefined` if there are none. */
export const outcomeBadge = (timeline: Pick<Timeline, "outcomes">): string | undefined => {
  const open = openOutcomes(timeline)
  const unknown = open.filter(({ state }) => state === "unknown").length
  const parts = [
    ...(unknown === 0 ? [] : [unknown === 1 ? "outcome unknown" : `${unknown} outcomes unknown`]),
    ...(open.length === unknown ? [] : [`${open.length - unknown} not undone`])
  ]
  return parts.length === 0 ? undefined : parts.join(", ")
}
