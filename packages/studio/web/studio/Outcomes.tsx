/** Outcomes of a run: its possible calls, its compensated ones, and those whose compensation failed. */
import type { OpenOutcome } from "@recourse/server/RunIndex"
import { CheckCard } from "./Checks.tsx"
import { moment } from "./format.ts"

const words: Readonly<Record<string, string>> = {
  undone: "was done, and was compensated",
  not_happened: "has not happened: no compensation was needed"
}

interface Props {
  readonly outcomes: ReadonlyArray<OpenOutcome>
  readonly onChecked: () => void
}

export const Outcomes = ({ onChecked, outcomes }: Props) =>
  outcomes.length === 0
    ? <p className="empty">No call of this run is unknown, and none was undone.</p>
    : (
      <div className="outcomes">
        {outcomes.map((outcome) => {
          const { at, spanId, state, tool } = outcome.call
          return state === "unknown" || state === "not_undone"
            ? <CheckCard key={spanId} outcome={outcome} onChecked={onChecked} />
            : (
              <article key={spanId} className="approval settled" aria-label={`${tool} ${state}`}>
                <header>
                  <h3>{tool}</h3>
                  <span className="chip">{state === "undone" ? "undone" : "not happened"}</span>
                  <span className="when">{moment(at)}</span>
                </header>
                <p>The call {words[state ?? ""]}.</p>
              </article>
            )
        })}
      </div>
    )
