/** Badges of a run: reasons for an operator to open it. */
import type { RunSummary } from "@recourse/server/RunIndex"

interface Props {
  readonly summary: RunSummary | undefined
  /** Number of waiting calls. */
  readonly pending: number
}

type Badge = readonly [text: string, tone: string]

const badgesOf = ({ pending, summary }: Props): ReadonlyArray<Badge> => [
  ...(pending > 1 ? [[`${pending} calls`, "warn"] as const] : []),
  ...(summary === undefined ? [] : [
    ...(summary.unknown > 0
      ? [[summary.unknown === 1 ? "outcome unknown" : `${summary.unknown} outcomes unknown`, "warn"] as const]
      : []),
    ...(summary.undone > 0 ? [[summary.undone === 1 ? "undone" : `${summary.undone} undone`, ""] as const] : []),
    ...(summary.code === undefined
      ? []
      : [[summary.code, summary.code === "outcome_unknown" ? "warn" : "bad"] as const]),
    ...(summary.retries > 0 ? [[summary.retries === 1 ? "retried" : `${summary.retries} retries`, ""] as const] : []),
    ...(summary.fixes > 0 ? [["repaired", ""] as const] : []),
    ...(summary.fallbacks > 0 ? [["fallback", ""] as const] : [])
  ])
]

export const Badges = (props: Props) => (
  <>
    {badgesOf(props).map(([text, tone]) => <span key={text} className={`chip ${tone}`}>{text}</span>)}
  </>
)
