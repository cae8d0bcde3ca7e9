/** Undo: the writes of a run that has ended, with their states, and their compensation. */
import { useEffect, useRef, useState } from "react"
import type { RunWrite } from "@recourse/core/Compensation"
import { Button } from "../shared/Button.tsx"
import { moment, pretty } from "./format.ts"
import { useOperator } from "./operator.ts"
import { hrefOf } from "./route.ts"
import { useWrites } from "./writesStore.ts"

const states: Readonly<Record<RunWrite["state"], { readonly word: string; readonly look: string }>> = {
  done: { word: "done", look: "" },
  unknown: { word: "outcome unknown", look: "warn" },
  partial: { word: "done in part", look: "warn" },
  pending: { word: "its task continues", look: "" },
  compensating: { word: "is being undone", look: "accent" },
  compensated: { word: "undone", look: "good" },
  not_happened: { word: "did not happen", look: "" },
  not_compensated: { word: "not undone", look: "warn" }
}

const reasons: Readonly<Record<string, string>> = {
  unknown: "it is not known whether it has happened",
  partial: "it was done in part",
  pending: "it has begun a task that continues",
  failed: "its compensation failed",
  timeout: "its compensation gave no answer, and may have done its work",
  unreadable: "its stored arguments or result cannot be read",
  no_tool: "the agent has no tool of this name any more"
}

/** A sentence about a write that cannot be compensated here, or was. */
const sentenceOf = ({ because, by, canCompensate, error, state }: RunWrite): string | undefined => {
  switch (state) {
    case "compensated":
      return by === undefined ? "Undone when its run ended." : `Undone by ${by}.`
    case "not_happened":
      return "It was looked up: there was nothing to undo."
    case "not_compensated":
      return `Not undone${by === undefined ? "" : ` by ${by}`}: ${reasons[because ?? ""] ?? "the reason is not known"}${
        error === undefined ? "" : ` (${error})`
      }. Undo it by hand, and record that among the outcomes.`
    case "compensating":
      return undefined
    default:
      return canCompensate ? undefined : "It cannot be undone here: its tool declares no compensation for this."
  }
}

interface AskProps {
  readonly question: string
  readonly confirm: string
  readonly onConfirm: () => Promise<void>
  readonly onBack: () => void
}

/** A confirmation: a compensation cannot be taken back. */
const Ask = ({ confirm, onBack, onConfirm, question }: AskProps) => {
  const [problem, setProblem] = useState<string>()
  const [isSent, setSent] = useState(false)
  const first = useRef<HTMLButtonElement>(null)
  useEffect(() => first.current?.focus({ preventScroll: true }), [])
  const send = (): void => {
    setSent(true)
    setProblem(undefined)
    onConfirm().then(onBack, (error: Error) => {
      setSent(false)
      setProblem(error.message)
    })
  }
  return (
    <div className="ask" role="group" aria-label={question}>
      <p>{question}</p>
      {problem === undefined ? null : <p className="problem" role="alert">{problem}</p>}
      <div className="actions">
        <Button ref={first} size="small" className="danger" disabled={isSent} onClick={send}>
          {isSent ? "Undoing…" : confirm}
        </Button>
        <Button variant="quiet" size="small" disabled={isSent} onClick={onBack}>Back</Button>
      </div>
    </div>
  )
}

interface CardProps {
  readonly write: RunWrite
  readonly mayDecide: boolean
  readonly onUndo: () => Promise<void>
}

const WriteCard = ({ mayDecide, onUndo, write }: CardProps) => {
  const [isAsked, setAsked] = useState(false)
  const { at, callId, canCompensate, compensatedBy, path, state, tool } = write
  const { look, word } = states[state]
  const sentence = sentenceOf(write)
  return (
    <article className="approval write" aria-label={`${tool} ${callId}: ${word}`}>
      <header>
        <h3>{tool}</h3>
        <span className={`chip ${look}`}>{word}</span>
        {path.length < 2 ? null : <span className="owner">by {path.at(-1)}</span>}
        {compensatedBy === undefined
          ? null
          : <a href={hrefOf({ page: "runs", runId: compensatedBy })}>the run that undoes it</a>}
        <span className="when">{moment(at)}</span>
      </header>
      <pre tabIndex={0} role="region" aria-label={`Arguments of ${tool}, ${callId}`}>{pretty(write.arguments)}</pre>
      {sentence === undefined ? null : <p className="key">{sentence}</p>}
      {!canCompensate || !mayDecide
        ? null
        : isAsked
        ? (
          <Ask
            question={`Undo this call of ${tool}? Its compensation runs once, and cannot be taken back.`}
            confirm="Undo it"
            onConfirm={onUndo}
            onBack={() => setAsked(false)}
          />
        )
        : (
          <div className="actions">
            <Button size="small" icon="retry" onClick={() => setAsked(true)}>Undo</Button>
          </div>
        )}
    </article>
  )
}

export const Writes = ({ runId }: { readonly runId: string }) => {
  const store = useWrites(runId)
  const { mayDecide } = useOperator()
  const [isAsked, setAsked] = useState(false)
  const { isActive, problem, writes } = store
  if (isActive) return <p className="empty">The run has not ended. Stop it: its agent then undoes what it declares.</p>
  if (writes === undefined) return <p className="empty" role="status">{problem ?? "Loading…"}</p>
  if (writes.length === 0) return <p className="empty">No call of this run has written anything.</p>
  const open = writes.filter(({ canCompensate }) => canCompensate)
  const calls = open.length === 1 ? "1 call" : `${open.length} calls`
  return (
    <div className="outcomes writes">
      <div className="undo-all">
        <p>
          {open.length === 0
            ? "No call of this run can be undone."
            : `${calls} of this run can be undone, the newest first.`}
          {mayDecide || open.length === 0 ? "" : " Somebody with the right to decide may do so."}
        </p>
        {!mayDecide || open.length < 2 || isAsked
          ? null
          : <Button size="small" icon="retry" onClick={() => setAsked(true)}>Undo all {open.length}</Button>}
      </div>
      {isAsked
        ? (
          <Ask
            question={`Undo ${calls}? Each compensation runs once, and cannot be taken back.`}
            confirm={`Undo ${calls}`}
            onConfirm={() => store.compensate(undefined)}
            onBack={() => setAsked(false)}
          />
        )
        : null}
      {writes.map((write) => (
        <WriteCard
          key={write.id}
          write={write}
          mayDecide={mayDecide}
          onUndo={() => store.compensate([write.id])}
        />
      ))}
    </div>
  )
}
