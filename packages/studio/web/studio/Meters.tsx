/** Budgets as meters. */
import type { Meter } from "@recourse/server/RunTimeline"
import { amount, budgetName } from "./format.ts"

const tone = (share: number): string => share >= 1 ? "bad" : share >= 0.8 ? "warn" : "accent"

export const Meters = ({ meters }: { readonly meters: ReadonlyArray<Meter> }) => {
  const limited = meters.filter(({ limit }) => Number.isFinite(limit) && limit > 0)
  if (limited.length === 0) return null
  const several = new Set(limited.map(({ agentRunId }) => agentRunId)).size > 1
  return (
    <section className="meters" aria-label="Budgets" tabIndex={0}>
      {limited.map(({ agent, agentRunId, budget, limit, used }) => {
        const share = used / limit
        const name = several ? `${budgetName(budget)} of ${agent}` : budgetName(budget)
        const text = `${amount(budget, used)} of ${amount(budget, limit)}`
        return (
          <div key={`${agentRunId} ${budget}`} className={`meter ${tone(share)}`}>
            <span className="meter-name">{name}</span>
            <span
              role="meter"
              aria-label={name}
              aria-valuemin={0}
              aria-valuemax={limit}
              aria-valuenow={Math.min(used, limit)}
              aria-valuetext={text}
              className="gauge"
            >
              <span style={{ width: `${Math.min(100, share * 100)}%` }} />
            </span>
            <span className="meter-text">{text}</span>
          </div>
        )
      })}
    </section>
  )
}
