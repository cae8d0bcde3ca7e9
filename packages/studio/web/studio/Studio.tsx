/** The operator's page: running and ended runs, and calls that wait for a person. */
import { useDeferredValue } from "react"
import { SignIn } from "../shared/SignIn.tsx"
import { ThemeToggle } from "../shared/ThemeToggle.tsx"
import { Approvals } from "./Approvals.tsx"
import { useApprovals } from "./approvalsStore.ts"
import { Checks } from "./Checks.tsx"
import { useChecks, useLedger } from "./checksStore.ts"
import { Compare } from "./Compare.tsx"
import { Filters } from "./Filters.tsx"
import { NextFaults } from "./NextFaults.tsx"
import { CurrentOperator, useOperator } from "./operator.ts"
import { Overview } from "./Overview.tsx"
import { hrefOf, type Route, tell, useRoute, type View } from "./route.ts"
import { RunList } from "./RunList.tsx"
import { type Filter, filterKeys, filterOf, useRuns } from "./runs.ts"
import { RunView } from "./RunView.tsx"
import { useSignedIn } from "./useSignedIn.ts"

interface LinkProps {
  readonly to: View
  readonly name: string
  readonly isHere: boolean
  readonly count?: number
}

const PageLink = ({ count = 0, isHere, name, to }: LinkProps) => (
  <a href={hrefOf(to)} aria-current={isHere ? "page" : undefined}>
    {name}
    {count === 0 ? null : <span className="count">{count}</span>}
  </a>
)

/** A filter in the address. */
const reportOf = (filter: Filter) => Object.fromEntries(filterKeys.map((key) => [key, filter[key]]))

const Page = ({ approvals, checks, ledger, route }: {
  readonly route: Route
  readonly approvals: ReturnType<typeof useApprovals>
  readonly checks: ReturnType<typeof useChecks>
  readonly ledger: ReturnType<typeof useLedger>
}) => {
  switch (route.page) {
    case "overview":
      return <Overview hours={Number(route.told["hours"] ?? "24")} />
    case "approvals":
      return <Approvals approvals={approvals.approvals} onDecided={approvals.refresh} />
    case "checks":
      return (
        <Checks
          outcomes={checks.outcomes}
          entries={ledger.entries}
          onChecked={() => {
            checks.refresh()
            ledger.refresh()
          }}
        />
      )
    case "compare":
      return <Compare left={route.left} right={route.right} />
    case "runs":
      return route.runId === undefined
        ? <p className="empty">Choose a run. New ones come to the top of the list.</p>
        : <RunView key={route.runId} runId={route.runId} told={route.told} />
  }
}

const Pages = () => {
  const route = useRoute()
  const filter = filterOf(route.page === "runs" ? route.told : {})
  const list = useRuns(useDeferredValue(filter))
  const approvals = useApprovals()
  const checks = useChecks()
  const ledger = useLedger()
  const { mayChat } = useOperator()
  const runId = route.page === "runs" ? route.runId : undefined
  const isWithin = route.page !== "runs" || runId !== undefined
  const told = reportOf(filter)
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
          <span className="actions">
            {mayChat ? <a className="button quiet small" href="./chat">Chat</a> : null}
            <ThemeToggle />
          </span>
        </header>
        <p className="pages">
          <PageLink to={{ page: "runs", runId: undefined }} name="Runs" isHere={route.page === "runs"} />
          <PageLink to={{ page: "overview" }} name="Overview" isHere={route.page === "overview"} />
          <PageLink
            to={{ page: "approvals" }}
            name="Approvals"
            isHere={route.page === "approvals"}
            count={approvals.approvals.length}
          />
          <PageLink
            to={{ page: "checks" }}
            name="To be checked"
            isHere={route.page === "checks"}
            count={checks.outcomes.length + ledger.entries.length}
          />
        </p>
        <Filters filter={filter} onChange={(changed) => tell(reportOf(changed))} />
        {list.problem === undefined ? null : <p className="problem" role="alert">{list.problem}</p>}
        <NextFaults />
        <RunList list={list} selected={runId} told={told} />
      </nav>
      <main id="main" tabIndex={-1}>
        <Page route={route} approvals={approvals} checks={checks} ledger={ledger} />
      </main>
    </div>
  )
}

export const Studio = () => {
  const { operator, refused } = useSignedIn()
  if (refused !== undefined) return <SignIn isKnown={refused.status === 403} what="The studio" />
  return (
    <CurrentOperator value={operator}>
      <Pages />
    </CurrentOperator>
  )
}
