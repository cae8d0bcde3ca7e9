/** The operator's page: runs as they happen and afterwards, and what waits for a decision. */
import { useDeferredValue, useState } from "react"
import { ThemeToggle } from "../shared/ThemeToggle.tsx"
import { Approvals } from "./Approvals.tsx"
import { useApprovals } from "./approvalsStore.ts"
import { Compare } from "./Compare.tsx"
import { Filters } from "./Filters.tsx"
import { hrefOf, useRoute } from "./route.ts"
import { NextFaults } from "./NextFaults.tsx"
import { RunList } from "./RunList.tsx"
import { noFilter, useRuns } from "./runs.ts"
import { RunView } from "./RunView.tsx"

export const Studio = () => {
  const route = useRoute()
  const [filter, setFilter] = useState(noFilter)
  const list = useRuns(useDeferredValue(filter))
  const { approvals, refresh } = useApprovals()
  const runId = route.page === "runs" ? route.runId : undefined
  const isWithin = route.page !== "runs" || runId !== undefined
  return (
    <div className={isWithin ? "studio within" : "studio"}>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          document.getElementById("main")?.focus()
        }}
      >
        Skip to the run
      </a>
      <nav className="side" aria-label="Studio">
        <header>
          <h1>Studio</h1>
          <ThemeToggle />
        </header>
        <p className="pages">
          <a
            href={hrefOf({ page: "runs", runId: undefined })}
            aria-current={route.page === "runs" ? "page" : undefined}
          >
            Runs
          </a>
          <a href={hrefOf({ page: "approvals" })} aria-current={route.page === "approvals" ? "page" : undefined}>
            Approvals
            {approvals.length === 0
              ? null
              : <span className="count">{approvals.length}</span>}
          </a>
        </p>
        <Filters filter={filter} onChange={setFilter} />
        {list.problem === undefined ? null : <p className="problem" role="alert">{list.problem}</p>}
        <NextFaults />
        <RunList list={list} selected={runId} />
      </nav>
      <main id="main" tabIndex={-1}>
        {route.page === "approvals"
          ? <Approvals approvals={approvals} onDecided={refresh} />
          : route.page === "compare"
          ? <Compare left={route.left} right={route.right} />
          : runId === undefined
          ? <p className="empty">Choose a run. New ones come to the top of the list.</p>
          : <RunView key={runId} runId={runId} />}
      </main>
    </div>
  )
}
