/** Approvals: the calls that wait for a person, in all runs, with exactly the call that would run. */
import { useEffect, useId, useRef, useState } from "react"
import type { RunInfo } from "@recourse/core/Runs"
import { Button } from "../shared/Button.tsx"
import { request } from "../shared/api.ts"
import { exact, visible } from "../shared/exact.ts"
import { moment } from "./format.ts"
import type { Run, Waiting } from "./approvalsStore.ts"
import { useOperator } from "./operator.ts"
import { hrefOf } from "./route.ts"

type Call = RunInfo["pending"][number]

/** The last time that a `Date` can hold: an approval without an end. */
const never = 8.64e15

type Mode = "ask" | "edit" | "reject"

interface CardProps {
  readonly run: Run
  readonly call: Call
  readonly onDecided: () => void
  /** True if the card names its run. */
  readonly isInInbox?: boolean
  /** Number of other waiting calls that are the same. */
  readonly equals?: number
}

export const ApprovalCard = ({ call, equals = 0, isInInbox = false, onDecided, run }: CardProps) => {
  const { mayDecide } = useOperator()
  const [mode, setMode] = useState<Mode>("ask")
  const [text, setText] = useState("")
  const [problem, setProblem] = useState<string>()
  const [isSent, setSent] = useState(false)
  const field = useId()
  const { argumentsHash, callId } = call
  const card = useRef<HTMLElement>(null)
  useEffect(() => {
    // The list of waiting calls is short: a form that opens in it is brought into sight, with its buttons.
    if (mode === "ask") return
    card.current?.scrollIntoView({ block: "nearest" })
    card.current?.querySelector<HTMLElement>(".field")?.focus({ preventScroll: true })
  }, [mode])
  const send = async (decision: object): Promise<void> => {
    setSent(true)
    setProblem(undefined)
    try {
      const decisions = [{ callId, argumentsHash, ...decision }]
      await request("POST", `operator/runs/${encodeURIComponent(run.runId)}/decisions`, { body: { decisions } })
      onDecided()
    } catch (error) {
      setSent(false)
      setProblem((error as Error).message)
    }
  }
  const approveEdited = (): void => {
    try {
      void send({ _tag: "Edit", arguments: JSON.parse(text) as unknown })
    } catch {
      setProblem("These arguments are no JSON.")
    }
  }
  return (
    <article ref={card} className="approval" aria-label={`${call.tool} waits`}>
      <header>
        <h3>{call.tool}</h3>
        <span className="chip warn">{call.code === "approval_expired" ? "the approval came too late" : "waits"}</span>
        {isInInbox
          ? <a href={hrefOf({ page: "runs", runId: run.runId })}>{run.agent} of {run.owner ?? "no owner"}</a>
          : null}
        <span className="when">
          since {moment(call.requestedAt)}
          {call.expiresAt >= never ? "" : `, until ${moment(call.expiresAt)}`}
        </span>
      </header>
      {!isInInbox || run.summary === undefined ?
        null :
        <blockquote className="asked" dir="auto">{visible(run.summary.input)}</blockquote>}
      {equals === 0 ? null : (
        <p className="equal">
          {equals === 1 ? "Another call waits" : `${equals} other calls wait`}{" "}
          with the same arguments. Are all of them wanted?
        </p>
      )}
      {call.reasons.length === 0 ? null : <p dir="auto">{call.reasons.join("; ")}</p>}
      {call.fixedBy === undefined ? null : <p>The arguments are those of a repair by {call.fixedBy}.</p>}
      {mode === "edit"
        ? (
          <>
            <label className="label" htmlFor={field}>Arguments</label>
            <textarea
              id={field}
              className="field"
              rows={6}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          </>
        )
        : (
          <pre
            tabIndex={0}
            role="region"
            aria-label={`Arguments of ${call.tool}`}
          >{exact(call.arguments)}</pre>
        )}
      {mode === "reject"
        ? (
          <>
            <label className="label" htmlFor={field}>Why not? The model reads this.</label>
            <input
              id={field}
              className="field"
              aria-label="Why not? The model reads this."
              dir="auto"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          </>
        )
        : null}
      {problem === undefined ? null : <p className="problem" role="alert">{problem}</p>}
      {!mayDecide && isInInbox ? <p className="key">Somebody with the right to decide has to answer.</p> : null}
      <div className="actions">
        {!mayDecide
          ? null
          : mode === "ask"
          ? (
            <>
              <Button variant="primary" size="small" disabled={isSent} onClick={() => void send({ _tag: "Approve" })}>
                Approve
              </Button>
              <Button
                size="small"
                disabled={isSent}
                onClick={() => {
                  setText(exact(call.arguments))
                  setMode("edit")
                }}
              >
                Edit
              </Button>
              <Button
                size="small"
                className="danger"
                disabled={isSent}
                onClick={() => {
                  setText("")
                  setMode("reject")
                }}
              >
                Reject
              </Button>
            </>
          )
          : (
            <>
              {mode === "edit"
                ? (
                  <Button variant="primary" size="small" disabled={isSent} onClick={approveEdited}>
                    Approve as edited
                  </Button>
                )
                : (
                  <Button
                    size="small"
                    className="danger"
                    disabled={isSent}
                    onClick={() => void send({ _tag: "Reject", reason: text })}
                  >
                    Reject the call
                  </Button>
                )}
              <Button variant="quiet" size="small" onClick={() => setMode("ask")}>Back</Button>
            </>
          )}
      </div>
    </article>
  )
}

/** True if two calls are the same. */
const isSame = (a: Call, b: Call): boolean => a.tool === b.tool && a.argumentsHash === b.argumentsHash

export const Approvals = (
  { approvals, onDecided }: { readonly approvals: ReadonlyArray<Waiting>; readonly onDecided: () => void }
) => (
  <section className="inbox" aria-labelledby="approvals">
    <h2 id="approvals">Approvals</h2>
    {approvals.length === 0 ? <p className="empty">No call waits for anybody.</p> : null}
    {approvals.toSorted((a, b) => a.call.expiresAt - b.call.expiresAt || a.call.requestedAt - b.call.requestedAt).map((
      { call, run }
    ) => (
      <ApprovalCard
        key={`${run.runId} ${call.callId}`}
        call={call}
        run={run}
        equals={approvals.filter((other) => isSame(other.call, call)).length - 1}
        onDecided={onDecided}
        isInInbox
      />
    ))}
  </section>
)
