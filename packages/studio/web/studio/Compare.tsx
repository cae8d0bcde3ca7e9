/** Two runs side by side: their usage, and their first different steps. */
import { useState } from "react"
import type { RunTimeline, Span } from "@recourse/server/RunTimeline"
import { compareRuns } from "./compareRuns.ts"
import { cost, count, duration } from "./format.ts"
import { openOutcomes, outcomeBadge } from "./outcomes.ts"
import { SpanName } from "./SpanName.tsx"
import { RunList } from "./RunList.tsx"
import { go, hrefOf } from "./route.ts"
import { noFilter, useRuns } from "./runs.ts"
import { useFeed } from "./runFeed.ts"
import { Status } from "./Status.tsx"

const length = ({ spans }: RunTimeline): number =>
  (spans[0]?.endedAt ?? Date.now()) - (spans[0]?.startedAt ?? Date.now())

const facts: ReadonlyArray<readonly [string, (timeline: RunTimeline) => number, (value: number) => string]> = [
  ["Time", length, duration],
  ["Turns", ({ usage }) => usage.turns, count],
  ["Tool calls", ({ calls }) => calls, count],
  ["Attempts", ({ usage }) => usage.toolCalls, count],
  ["Retries", ({ usage }) => usage.retries, count],
  ["Repairs", ({ usage }) => usage.fixes, count],
  ["Failures", ({ failures }) => failures.length, count],
  ["Outcomes unknown", (timeline) => openOutcomes(timeline).length, count],
  ["Input tokens", ({ usage }) => usage.inputTokens, count],
  ["Output tokens", ({ usage }) => usage.outputTokens, count],
  ["Cost", ({ usage }) => usage.cost, cost]
]

const Step = ({ span }: { readonly span: Span | undefined }) =>
  span === undefined ? <td className="absent">–</td> : (
    <td className={span.state}>
      <SpanName span={span} /> {span.kind === "call" ? <code>{span.arguments}</code> : null}
      <span className="note">
        {duration((span.endedAt ?? span.startedAt) - span.startedAt)}, {span.note ?? span.state}
      </span>
    </td>
  )

const Both = ({ left, right }: { readonly left: string; readonly right: string }) => {
  const a = useFeed(left)
  const b = useFeed(right)
  const pairs = compareRuns(a.timeline, b.timeline)
  return (
    <div className="compare-tables" tabIndex={0} role="region" aria-label="Comparison">
      <table>
        <caption>What they used</caption>
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Fact</span>
            </th>
            {[left, right].map((runId) => (
              <th key={runId} scope="col">
                <a href={hrefOf({ page: "runs", runId })}>{runId}</a>
              </th>
            ))}
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Status</th>
            {[a, b].map((feed, index) => (
              <td key={index}>
                <Status status={feed.timeline.spans[0]?.state ?? "running"} />
                {outcomeBadge(feed.timeline) === undefined
                  ? null
                  : <span className="chip warn">{outcomeBadge(feed.timeline)}</span>}
              </td>
            ))}
            <td>–</td>
          </tr>
          {facts.map(([name, of, text]) => {
            const difference = of(b.timeline) - of(a.timeline)
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{text(of(a.timeline))}</td>
                <td>{text(of(b.timeline))}</td>
                <td className={difference === 0 ? "" : difference > 0 ? "more" : "less"}>
                  {difference === 0 ? "same" : `${difference > 0 ? "+" : "−"}${text(Math.abs(difference))}`}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      <table className="steps">
        <caption>Turns and calls</caption>
        <tbody>
          {pairs.map(({ left, right }, index) => (
            <tr key={index} className={left === undefined || right === undefined ? "parted" : "shared"}>
              <Step span={left} />
              <Step span={right} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export const Compare = ({ left, right }: { readonly left: string; readonly right: string | undefined }) => {
  const [typed, setTyped] = useState("")
  const list = useRuns({ ...noFilter, run: typed })
  return (
    <section className="compare" aria-labelledby="compare">
      <h2 id="compare">Compare two runs</h2>
      {right === undefined
        ? (
          <>
            <p>
              Choose a run to stand beside <code>{left}</code>.
            </p>
            <input
              className="field"
              type="search"
              aria-label="Run id"
              placeholder="Run id"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
            <div
              className="chooser"
              onClickCapture={(event) => {
                const link = (event.target as Element).closest("a")
                const runId = link?.getAttribute("href")?.replace("#/runs/", "")
                if (runId === undefined) return
                event.preventDefault()
                go({ page: "compare", left, right: decodeURIComponent(runId) })
              }}
            >
              <RunList list={list} selected={left} />
            </div>
          </>
        )
        : <Both left={left} right={right} />}
    </section>
  )
}
