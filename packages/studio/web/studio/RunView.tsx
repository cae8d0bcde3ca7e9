/** One run: its facts, its budgets, and its steps, decisions, failures, requests and events. */
import { useEffect, useId, useState } from "react"
import { Button } from "../shared/Button.tsx"
import { request } from "../shared/api.ts"
import { seen } from "../shared/exact.ts"
import { ApprovalCard } from "./ApprovalCard.tsx"
import { Decisions } from "./Decisions.tsx"
import { Events } from "./Events.tsx"
import { Failures } from "./Failures.tsx"
import { cost, count, duration, moment } from "./format.ts"
import { useOutcomesOf } from "./checksStore.ts"
import { useOperator } from "./operator.ts"
import { Outcomes } from "./Outcomes.tsx"
import { Inspector } from "./Inspector.tsx"
import { Meters } from "./Meters.tsx"
import { outcomeBadge } from "./outcomes.ts"
import { useReplay } from "./replay.ts"
import { ReplayBar } from "./ReplayBar.tsx"
import { Requests } from "./Requests.tsx"
import { hrefOf, tell, type Told } from "./route.ts"
import { useFeed } from "./runFeed.ts"
import { SaveRun } from "./SaveRun.tsx"
import { Status } from "./Status.tsx"
import { Waterfall } from "./Waterfall.tsx"
import { Writes } from "./Writes.tsx"

const tabs = ["Waterfall", "Decisions", "Outcomes", "Undo", "Failures", "Requests", "Events"] as const
type Tab = typeof tabs[number]

const over = new Set(["completed", "failed", "cancelled"])

/** Of the tabs that a narrow window cuts off, the chosen one is seen. */
const intoView = (element: HTMLElement | null): void => element?.scrollIntoView({ block: "nearest", inline: "nearest" })

/** The present time, while a run is active. */
const useNow = (isRunning: boolean): number => {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [isRunning])
  return now
}

interface Props {
  readonly runId: string
  /** The address's values: the tab, and the step. */
  readonly told: Told
}

export const RunView = ({ runId, told }: Props) => {
  const feed = useFeed(runId)
  const replay = useReplay(feed)
  const { info, problem, refresh } = feed
  const tab = tabs.find((name) => name === told["tab"]) ?? "Waterfall"
  const selected = told["step"]
  const checks = useOutcomesOf(runId)
  const { mayDecide } = useOperator()
  const setTab = (name: Tab): void => tell({ tab: name === "Waterfall" ? "" : name })
  const setSelected = (step: string | undefined): void => tell({ step: step ?? "" })
  const [refused, setRefused] = useState<string>()
  const panel = useId()
  const { timeline } = replay
  const root = timeline.spans[0]
  const isRunning = replay.isLive && feed.state !== "ended" && root?.state === "running"
  const clock = useNow(isRunning || (replay.isLive && timeline.waitingSince !== undefined))
  const from = root?.startedAt ?? info?.startedAt ?? clock
  const lastEvent = feed.events[replay.position - 1]?.at ?? from
  const now = isRunning ? Math.max(clock, lastEvent) : Math.max(lastEvent, root?.endedAt ?? 0)
  const span = timeline.spans.find(({ id }) => id === selected)
  const { usage } = timeline
  const { waited, waitingSince } = timeline
  const waits = replay.isLive ? clock : lastEvent
  const known = new Map(checks.outcomes.map((outcome) => [outcome.call.spanId, outcome]))
  const badge = outcomeBadge({
    outcomes: timeline.outcomes.filter(({ spanId }) => known.get(spanId ?? "")?.check === undefined)
  })
  const status = info?.status ?? root?.state ?? "queued"
  const counts: Readonly<Partial<Record<Tab, number>>> = {
    Decisions: timeline.decisions.length,
    Outcomes: checks.outcomes.length,
    Failures: timeline.failures.length,
    Requests: timeline.requests.length,
    Events: replay.position
  }
  const stop = async (): Promise<void> => {
    try {
      await request("POST", `operator/runs/${encodeURIComponent(runId)}/stop`)
      setRefused(undefined)
    } catch (error) {
      setRefused((error as Error).message)
    }
    refresh()
  }
  /** The keyboard focus moves to the list of steps. */
  const close = (): void => {
    setSelected(undefined)
    document.querySelector<HTMLElement>(`#${CSS.escape(panel)} [role=listbox]`)?.focus({ preventScroll: true })
  }
  const select = (id: string): void => {
    tell({ step: id, tab: "" })
  }
  const ending = timeline.failures.findLast(({ endedRun }) => endedRun)
  const facts: ReadonlyArray<readonly [string, string]> = [
    ["Started", moment(from)],
    ["Worked", duration(Math.max(0, (waitingSince ?? now) - from - waited))],
    ...(waited === 0 && waitingSince === undefined
      ? []
      : [["Waited", duration(waited + (waitingSince === undefined ? 0 : Math.max(0, waits - waitingSince)))] as const]),
    ["Turns", count(usage.turns)],
    [
      "Tool calls",
      usage.toolCalls > timeline.calls
        ? `${count(timeline.calls)} (${count(usage.toolCalls)} attempts)`
        : count(timeline.calls)
    ],
    ["Retries", count(usage.retries)],
    ["Repairs", count(usage.fixes)],
    ["Tokens", `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
    ["Cost", cost(usage.cost)]
  ]
  if (feed.isUnknown) {
    return (
      <div className="empty missing" role="alert">
        <h2>There is no run of this id.</h2>
        <p>
          It was never started, it was deleted because it ended long ago, or you may not see its agent:{" "}
          <code>{seen(runId)}</code>
        </p>
        <a className="button" href={hrefOf({ page: "runs", runId: undefined })}>All runs</a>
      </div>
    )
  }
  return (
    <article className="run" aria-label={`Run ${runId}`}>
      <header className="run-head">
        <div className="run-title">
          <h2>{info?.agent ?? root?.name ?? "Run"}</h2>
          <Status status={status} />
          {badge === undefined ? null : <span className="chip warn">{badge}</span>}
          <code className="run-id">{runId}</code>
          <span className="owner">{info?.owner === undefined ? "no owner" : `of ${info.owner}`}</span>
          <span className="actions">
            <SaveRun runId={runId} agent={info?.agent ?? root?.name ?? ""} />
            <a className="button small" href={hrefOf({ page: "runs", runId }, { like: runId })}>Runs like this one</a>
            <a className="button small" href={hrefOf({ page: "compare", left: runId, right: undefined })}>Compare</a>
            {over.has(status)
              ? null
              : <Button size="small" className="danger" onClick={() => void stop()}>Stop</Button>}
          </span>
        </div>
        <dl className="facts-grid">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {info?.failure === undefined ?
          null :
          (
            <p className={info.failure.code === "outcome_unknown" ? "problem unknown" : "problem"} role="status">
              <code>{info.failure.code}</code> {ending?.operator ?? info.failure.error}
              <span className="for-user">The user reads: {info.failure.userMessage}</span>
            </p>
          )}
        {problem === undefined && refused === undefined
          ? null
          : <p className="problem" role="alert">{refused ?? problem}</p>}
        {feed.state === "broken"
          ? <p className="problem" role="alert">The events of this run cannot be read.</p>
          : null}
        <Meters meters={timeline.meters} />
        {status !== "waiting" || info === undefined ? null : (
          <div className="waiting-calls">
            {mayDecide ? null : <p className="key">Somebody with the right to decide has to answer.</p>}
            {info.pending.map((call) => <ApprovalCard key={call.callId} call={call} run={info} onDecided={refresh} />)}
          </div>
        )}
      </header>
      <ReplayBar events={feed.events.length} isEnded={feed.state === "ended"} replay={replay} />
      <div className="tabs" role="tablist" aria-label="Shown parts of the run">
        {tabs.map((name, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${panel}-${name}`}
            aria-selected={name === tab}
            aria-controls={panel}
            tabIndex={name === tab ? 0 : -1}
            ref={name === tab ? intoView : undefined}
            onClick={() => setTab(name)}
            onKeyDown={(event) => {
              const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
              if (step === 0) return
              const next = tabs[(index + step + tabs.length) % tabs.length]!
              setTab(next)
              document.getElementById(`${panel}-${next}`)?.focus()
            }}
          >
            {name}
            {counts[name] === undefined ? null : <span className="count">{count(counts[name])}</span>}
          </button>
        ))}
      </div>
      <div
        className="panel"
        data-tab={tab}
        role="tabpanel"
        id={panel}
        aria-labelledby={`${panel}-${tab}`}
        onKeyDown={(event) => {
          if (event.key === "Escape" && span !== undefined) close()
        }}
      >
        {tab === "Waterfall"
          ? (
            <>
              <Waterfall spans={timeline.spans} now={now} selected={selected} onSelect={setSelected} />
              {span === undefined
                ? null
                : <Inspector span={span} timeline={timeline} now={now} onClose={close} />}
            </>
          )
          : tab === "Decisions"
          ? <Decisions decisions={timeline.decisions} from={from} onSelect={select} />
          : tab === "Outcomes"
          ? <Outcomes outcomes={checks.outcomes} onChecked={checks.refresh} />
          : tab === "Undo"
          ? <Writes key={status} runId={runId} />
          : tab === "Failures"
          ? <Failures failures={timeline.failures} from={from} />
          : tab === "Requests"
          ? <Requests runId={runId} timeline={timeline} />
          : <Events events={feed.events.slice(0, replay.position)} from={from} />}
      </div>
    </article>
  )
}
