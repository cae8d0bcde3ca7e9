/** Overview: results of the runs of some time, and links to problems. */
import { useMemo } from "react"
import type { Overview as Counts } from "@recourse/server/RunIndex"
import { get } from "../shared/api.ts"
import { cost, count, duration, moment } from "./format.ts"
import { hrefOf, tell, type Told } from "./route.ts"
import { Polled, useStore } from "./store.ts"

const spans = [[1, "1 hour"], [24, "24 hours"], [168, "7 days"], [720, "30 days"]] as const

const parts = 24

class OverviewStore extends Polled {
  counts: Counts & { readonly isComplete: boolean } | undefined
  /** When they were counted. */
  at = 0
  private readonly hours: number

  constructor(hours: number) {
    super(5000)
    this.hours = hours
  }

  protected async load(signal: AbortSignal): Promise<void> {
    const to = Date.now()
    const query = new URLSearchParams({
      from: String(to - this.hours * 3_600_000),
      to: String(to),
      parts: String(parts)
    })
    this.at = to
    this.counts = await get<Counts & { readonly isComplete: boolean }>(`operator/overview?${query}`, signal)
  }
}

interface TileProps {
  readonly name: string
  readonly value: string
  readonly note?: string | undefined
  readonly tone?: "warn" | "bad" | undefined
  /** Address of its runs. */
  readonly href?: string | undefined
}

const Tile = ({ href, name, note, tone, value }: TileProps) => (
  <div className={`tile ${tone ?? ""}`}>
    <dt>{name}</dt>
    <dd>
      {href === undefined ? value : <a href={href}>{value}</a>}
      {note === undefined ? null : <small>{note}</small>}
    </dd>
  </div>
)

const percent = (part: number, whole: number): string => whole === 0 ? "–" : `${Math.round((part / whole) * 100)} %`

/** Number of started runs over time: failed ones, and those with a call of unknown outcome, in their colours. */
const Chart = ({ series }: Pick<Counts, "series">) => {
  const most = Math.max(1, ...series.map(({ runs }) => runs))
  const total = series.reduce((sum, { runs }) => sum + runs, 0)
  const height = (value: number): string => `${(value / most) * 100}%`
  return (
    <figure className="chart">
      <figcaption>
        Runs by the time they started
        <span className="legend">
          <span className="key good">ended well</span>
          <span className="key warn">outcome unknown</span>
          <span className="key bad">failed</span>
        </span>
      </figcaption>
      <div className="bars" role="img" aria-label={`${total} runs; at most ${most} in one part of the time`}>
        {series.map(({ at, failed, runs, unknown: open }) => ({
          at,
          failed,
          runs,
          unknown: Math.min(open, runs - failed)
        })).map((
          { at, failed, runs, unknown }
        ) => (
          <span key={at} className="column" title={`${moment(at)}: ${runs} runs, ${failed} failed, ${unknown} unknown`}>
            <span className="part good" style={{ height: height(Math.max(0, runs - failed - unknown)) }} />
            <span className="part warn" style={{ height: height(unknown) }} />
            <span className="part bad" style={{ height: height(failed) }} />
          </span>
        ))}
      </div>
      <div className="chart-axis" aria-hidden="true">
        <span>{moment(series[0]?.at ?? 0)}</span>
        <span>up to {count(most)}</span>
        <span>now</span>
      </div>
    </figure>
  )
}

const listed = (told: Told): string => hrefOf({ page: "runs", runId: undefined }, told)

const Failures = ({ failures }: Pick<Counts, "failures">) => (
  <section aria-labelledby="failed-calls">
    <h3 id="failed-calls">Failed calls</h3>
    {failures.length === 0
      ? <p className="none">No call has failed.</p>
      : (
        <table>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Code</th>
              <th scope="col" className="number">Calls</th>
            </tr>
          </thead>
          <tbody>
            {failures.map(({ code, count: calls, tool }) => (
              <tr key={`${tool} ${code}`}>
                <td>{tool}</td>
                <td>
                  <a href={listed({ tool, code })}>{code}</a>
                </td>
                <td className="number">{count(calls)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
  </section>
)

const kinds = {
  retry: "Tried again",
  fix: "Repaired",
  fallback: "Done another way",
  escalation: "Reported to the model"
} as const

const Recovery = ({ recovery }: Pick<Counts, "recovery">) => (
  <section aria-labelledby="recovery">
    <h3 id="recovery">Recovery</h3>
    <table>
      <thead>
        <tr>
          <th scope="col">Way</th>
          <th scope="col" className="number">Calls</th>
          <th scope="col" className="number">Succeeded</th>
        </tr>
      </thead>
      <tbody>
        {recovery.map(({ kind, succeeded, used }) => (
          <tr key={kind}>
            <td>{kinds[kind]}</td>
            <td className="number">{count(used)}</td>
            <td className="number">{kind === "escalation" ? "–" : percent(succeeded, used)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const Numbers = ({ at, counts }: { readonly at: number; readonly counts: Counts }) => {
  const { byStatus, cost: spent, outcomes, p50, p95, runs, tokens, waiting } = counts
  const failed = byStatus["failed"] ?? 0
  const { checked, notUndone, undone, unknown } = outcomes
  return (
    <dl className="tiles">
      <Tile name="Runs" value={count(runs)} href={listed({})} note={`${count(byStatus["running"] ?? 0)} running`} />
      <Tile
        name="Failed"
        value={count(failed)}
        note={percent(failed, runs)}
        tone={failed > 0 ? "bad" : undefined}
        href={listed({ status: "failed" })}
      />
      <Tile
        name="Outcome unknown"
        value={count(unknown + notUndone)}
        note={`${count(checked)} checked`}
        tone={unknown + notUndone > 0 ? "warn" : undefined}
        href={hrefOf({ page: "checks" })}
      />
      <Tile name="Undone" value={count(undone)} note="calls compensated" href={listed({ status: "undone" })} />
      <Tile
        name="Approvals waiting"
        value={count(waiting.calls)}
        note={waiting.since === undefined ? undefined : `oldest ${duration(Math.max(0, at - waiting.since))}`}
        tone={waiting.calls > 0 ? "warn" : undefined}
        href={hrefOf({ page: "approvals" })}
      />
      <Tile
        name="Work, median"
        value={p50 === undefined ? "–" : duration(p50)}
        note={p95 === undefined ? undefined : `95 % within ${duration(p95)}`}
      />
      <Tile name="Cost" value={cost(spent)} note={`${count(tokens)} tokens`} />
    </dl>
  )
}

export const Overview = ({ hours }: { readonly hours: number }) => {
  const store = useStore(useMemo(() => new OverviewStore(hours), [hours]))
  const { counts, problem } = store
  return (
    <section className="overview" aria-labelledby="overview">
      <header>
        <h2 id="overview">Overview</h2>
        <select
          className="field"
          aria-label="Time"
          value={String(hours)}
          onChange={(event) => tell({ hours: event.target.value })}
        >
          {spans.map(([value, label]) => <option key={value} value={value}>Last {label}</option>)}
        </select>
      </header>
      {problem === undefined ? null : <p className="problem" role="alert">{problem}</p>}
      {counts === undefined
        ? <p className="empty" role="status">Counting…</p>
        : (
          <>
            {counts.isComplete ? null : <p className="lead" role="status">Older runs are still being read.</p>}
            <Numbers at={store.at} counts={counts} />
            <Chart series={counts.series} />
            <div className="tables">
              <Failures failures={counts.failures} />
              <Recovery recovery={counts.recovery} />
            </div>
          </>
        )}
    </section>
  )
}
