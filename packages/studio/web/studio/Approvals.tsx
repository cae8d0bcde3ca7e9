/** Approvals: the calls that wait for a person, in all runs; several are decided at once. */
import { useState } from "react"
import type { RunInfo } from "@recourse/core/Runs"
import { Button } from "../shared/Button.tsx"
import { request } from "../shared/api.ts"
import { ApprovalCard, isIrreversible } from "./ApprovalCard.tsx"
import type { Waiting } from "./approvalsStore.ts"
import { useOperator } from "./operator.ts"

type Call = RunInfo["pending"][number]

const keyOf = ({ call, run }: Waiting): string => `${run.runId} ${call.callId} ${call.argumentsHash}`

/** True if two calls are the same. */
const isSame = (a: Call, b: Call): boolean => a.tool === b.tool && a.argumentsHash === b.argumentsHash

/** Sends one decision about several calls, a request for each run. Returns the sentences of the refused ones. */
const decideAll = async (
  chosen: ReadonlyArray<Waiting>,
  decision: Readonly<Record<string, string>>
): Promise<ReadonlyArray<string>> => {
  const byRun = Map.groupBy(chosen, ({ run }) => run.runId)
  const sent = [...byRun].map(([runId, calls]) => {
    const decisions = calls.map(({ call: { argumentsHash, callId } }) => ({ callId, argumentsHash, ...decision }))
    return request("POST", `operator/runs/${encodeURIComponent(runId)}/decisions`, { body: { decisions } })
  })
  const answers = await Promise.allSettled(sent)
  return answers.flatMap((answer) => answer.status === "rejected" ? [(answer.reason as Error).message] : [])
}

interface BarProps {
  readonly all: ReadonlyArray<Waiting>
  readonly chosen: ReadonlyArray<Waiting>
  readonly onChoose: (chosen: ReadonlyArray<Waiting>) => void
  readonly onDecided: () => void
}

/** The bar of several decisions. */
const Several = ({ all, chosen, onChoose, onDecided }: BarProps) => {
  const [mode, setMode] = useState<"ask" | "approve" | "reject">("ask")
  const [reason, setReason] = useState("")
  const [problem, setProblem] = useState<string>()
  const [isSent, setSent] = useState(false)
  const irreversible = chosen.filter(({ call }) => isIrreversible(call)).length
  const calls = chosen.length === 1 ? "1 call" : `${chosen.length} calls`
  const send = async (decision: Readonly<Record<string, string>>): Promise<void> => {
    setSent(true)
    const refused = await decideAll(chosen, decision)
    setSent(false)
    setMode("ask")
    setReason("")
    setProblem(refused.length === 0 ? undefined : refused.join(" "))
    onChoose([])
    onDecided()
  }
  return (
    <div className="several" role="group" aria-label="Several at once">
      <label>
        <input
          type="checkbox"
          checked={chosen.length === all.length}
          ref={(box) => {
            if (box !== null) box.indeterminate = chosen.length > 0 && chosen.length < all.length
          }}
          onChange={(event) => onChoose(event.target.checked ? all : [])}
        />
        {chosen.length === 0 ? "Choose all" : `${calls} chosen`}
      </label>
      {mode === "approve"
        ? (
          <p className="ask" role="status">
            {irreversible === 1 ? "1 of them" : `${irreversible} of them`} cannot be taken back.
          </p>
        )
        : null}
      {mode === "reject"
        ? (
          <input
            className="field"
            autoFocus
            dir="auto"
            aria-label="Why not? The model reads this."
            placeholder="Why not? The model reads this."
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )
        : null}
      {problem === undefined ? null : <p className="problem" role="alert">{problem}</p>}
      {chosen.length === 0 ? null : (
        <span className="actions">
          {mode === "reject" ? null : (
            <Button
              variant="primary"
              size="small"
              disabled={isSent}
              onClick={() => irreversible > 0 && mode === "ask" ? setMode("approve") : void send({ _tag: "Approve" })}
            >
              {mode === "approve" ? `Approve ${calls} for good` : `Approve ${calls}`}
            </Button>
          )}
          {mode === "approve" ? null : (
            <Button
              size="small"
              className="danger"
              disabled={isSent}
              onClick={() => mode === "ask" ? setMode("reject") : void send({ _tag: "Reject", reason })}
            >
              Reject {calls}
            </Button>
          )}
          {mode === "ask"
            ? null
            : <Button variant="quiet" size="small" disabled={isSent} onClick={() => setMode("ask")}>Back</Button>}
        </span>
      )}
    </div>
  )
}

interface Props {
  readonly approvals: ReadonlyArray<Waiting>
  readonly onDecided: () => void
}

export const Approvals = ({ approvals, onDecided }: Props) => {
  const { mayDecide } = useOperator()
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const sorted = approvals.toSorted((a, b) =>
    a.call.expiresAt - b.call.expiresAt || a.call.requestedAt - b.call.requestedAt
  )
  // A call that was decided elsewhere is not chosen any more.
  const chosen = sorted.filter((waiting) => keys.has(keyOf(waiting)))
  const choose = (waiting: ReadonlyArray<Waiting>): void => setKeys(new Set(waiting.map(keyOf)))
  return (
    <section className="inbox" aria-labelledby="approvals">
      <h2 id="approvals">Approvals</h2>
      {sorted.length === 0 ? <p className="empty">No call waits for a decision.</p> : null}
      {mayDecide && sorted.length > 1
        ? <Several all={sorted} chosen={chosen} onChoose={choose} onDecided={onDecided} />
        : null}
      {sorted.map((waiting) => {
        const { call, run } = waiting
        const key = keyOf(waiting)
        const isChosen = keys.has(key)
        return (
          <ApprovalCard
            key={key}
            call={call}
            run={run}
            equals={sorted.filter((other) => isSame(other.call, call)).length - 1}
            onDecided={onDecided}
            isInInbox
            choice={sorted.length < 2 ? undefined : {
              isChosen,
              onChosen: (isNow) => choose(isNow ? [...chosen, waiting] : chosen.filter((other) => keyOf(other) !== key))
            }}
          />
        )
      })}
    </section>
  )
}
