/** A call that waits for a person, with its exact arguments, and the decision about it. */
import { useEffect, useId, useRef, useState } from "react"
import type { RunInfo } from "@recourse/core/Runs"
import { Button } from "../shared/Button.tsx"
import { request } from "../shared/api.ts"
import { exact, visible } from "../shared/exact.ts"
import { moment } from "./format.ts"
import type { Run } from "./approvalsStore.ts"
import { useOperator } from "./operator.ts"
import { hrefOf } from "./route.ts"

type Call = RunInfo["pending"][number]

/** The last time that a `Date` can hold: an approval without an end. */
const never = 8.64e15

type Mode = "ask" | "edit" | "reject" | "confirm"

/** True if an approved call cannot be compensated: its tool writes, and declares no compensation. */
export const isIrreversible = ({ compensation }: Call): boolean => compensation === undefined

/** The run until the call waits, in three lines at most. */
const Story = ({ run: { summary } }: { readonly run: Run }) =>
  summary?.story === undefined || summary.story.length === 0
    ? null
    : (
      <ol className="story" aria-label="The run so far">
        {summary.story.map((line, index) => <li key={index} dir="auto">{visible(line)}</li>)}
      </ol>
    )

interface CardProps {
  readonly run: Run
  readonly call: Call
  readonly onDecided: () => void
  /** True if the card names its run. */
  readonly isInInbox?: boolean
  /** Number of other waiting calls that are the same. */
  readonly equals?: number
  /** Whether it is chosen, and how to choose it: of several that are decided at once. */
  readonly choice?: { readonly isChosen: boolean; readonly onChosen: (isChosen: boolean) => void } | undefined
}

export const ApprovalCard = ({ call, choice, equals = 0, isInInbox = false, onDecided, run }: CardProps) => {
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
        {choice === undefined || !mayDecide ? null : (
          <input
            type="checkbox"
            className="choose"
            aria-label={`Choose ${call.tool} of ${run.owner ?? run.runId}`}
            checked={choice.isChosen}
            onChange={(event) => choice.onChosen(event.target.checked)}
          />
        )}
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
      {!isInInbox ? null : <Story run={run} />}
      {equals === 0 ? null : (
        <p className="equal">
          {equals === 1 ? "Another call waits" : `${equals} other calls wait`}{" "}
          with the same arguments. Are all of them wanted?
        </p>
      )}
      <p className="key">
        {isIrreversible(call)
          ? "It cannot be undone afterwards: its tool declares no compensation."
          : call.compensation === "declared"
          ? "It can be undone afterwards."
          : "It changes nothing: its tool reads."}
      </p>
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
            aria-label={`Arguments of ${call.tool}${isInInbox ? `, ${run.runId}` : ""}`}
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
      {mode !== "confirm"
        ? null
        : <p className="ask" role="status">This cannot be taken back. Is it what was asked for?</p>}
      {problem === undefined ? null : <p className="problem" role="alert">{problem}</p>}
      {!mayDecide && isInInbox ? <p className="key">Somebody with the right to decide has to answer.</p> : null}
      <div className="actions">
        {!mayDecide
          ? null
          : mode === "ask"
          ? (
            <>
              <Button
                variant="primary"
                size="small"
                disabled={isSent}
                onClick={() => isIrreversible(call) ? setMode("confirm") : void send({ _tag: "Approve" })}
              >
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
              {mode === "confirm"
                ? (
                  <Button
                    variant="primary"
                    size="small"
                    autoFocus
                    disabled={isSent}
                    onClick={() => void send({ _tag: "Approve" })}
                  >
                    Approve for good
                  </Button>
                )
                : mode === "edit"
                ? (
                  <Button variant="primary" size="small" disabled={isSent} onClick={approveEdited}>
                    {isIrreversible(call) ? "Approve as edited, for good" : "Approve as edited"}
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
