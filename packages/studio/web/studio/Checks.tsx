/** Checks: calls of unknown outcome, or whose compensation failed, with their known facts; and people's findings. */
import { type FormEvent, useId, useState } from "react"
import type { Answer, OpenOutcome } from "@recourse/server/RunIndex"
import { Button } from "../shared/Button.tsx"
import { request } from "../shared/api.ts"
import { seen } from "../shared/exact.ts"
import type { LedgerEntry } from "./checksStore.ts"
import { moment, pretty } from "./format.ts"
import { useOperator } from "./operator.ts"
import { hrefOf } from "./route.ts"

const found: Readonly<Record<Answer, string>> = {
  happened: "It has happened",
  not_happened: "It has not happened",
  settled: "It has been dealt with"
}

const reasons: Readonly<Record<string, string>> = {
  unknown: "it is unknown if it has happened",
  partial: "it was done in part",
  pending: "it has started a task that is pending",
  failed: "its compensation failed",
  timeout: "its compensation gave no answer",
  unreadable: "its stored state cannot be read",
  no_tool: "the agent has no tool of this name any more"
}

/** The question of a call, and its answers. */
const askedOf = ({ call }: OpenOutcome): { readonly known: string; readonly answers: ReadonlyArray<Answer> } =>
  call.state === "not_undone"
    ? {
      known: `It was to be undone, and is not: ${
        reasons[call.because ?? ""] ?? call.because ?? "the reason is not known"
      }.`,
      answers: ["settled"]
    }
    : {
      known: "It was started and gave no answer. It is not called again by itself.",
      answers: ["happened", "not_happened"]
    }

interface Props {
  readonly outcome: OpenOutcome
  readonly onChecked: () => void
  /** True if the card names its run. */
  readonly isInInbox?: boolean
}

interface FormProps {
  readonly answer: Answer
  readonly hasKey: boolean
  readonly onBack: () => void
  readonly onSend: (more: { readonly note?: string; readonly result?: unknown }) => Promise<void>
}

/** Recorded fields of a finding. */
const CheckForm = ({ answer, hasKey, onBack, onSend }: FormProps) => {
  const [note, setNote] = useState("")
  const [result, setResult] = useState("")
  const [problem, setProblem] = useState<string>()
  const [isSent, setSent] = useState(false)
  const id = useId()
  const asksResult = answer === "happened" && hasKey
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    let read: { readonly result?: unknown } = {}
    try {
      if (asksResult && result.trim() !== "") read = { result: JSON.parse(result) as unknown }
    } catch {
      return setProblem("This result is no JSON.")
    }
    setSent(true)
    setProblem(undefined)
    onSend({ ...(note.trim() === "" ? undefined : { note: note.trim() }), ...read }).catch((error: Error) => {
      setSent(false)
      setProblem(error.message)
    })
  }
  return (
    <form onSubmit={submit}>
      <label className="label" htmlFor={`${id}-note`}>
        How do you know? The audit and the model of the next turn read this.
      </label>
      <input
        id={`${id}-note`}
        className="field"
        autoFocus
        dir="auto"
        maxLength={1000}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
      {asksResult
        ? (
          <>
            <label className="label" htmlFor={`${id}-result`}>
              What did it answer? As JSON, for the next call with the same key. You may leave it empty.
            </label>
            <textarea
              id={`${id}-result`}
              className="field"
              rows={2}
              value={result}
              onChange={(event) => setResult(event.target.value)}
            />
          </>
        )
        : null}
      {problem === undefined ? null : <p className="problem" role="alert">{problem}</p>}
      <div className="actions">
        <Button type="submit" variant="primary" size="small" disabled={isSent}>
          Record: {found[answer].toLowerCase()}
        </Button>
        <Button variant="quiet" size="small" onClick={onBack}>Back</Button>
      </div>
    </form>
  )
}

export const CheckCard = ({ isInInbox = false, onChecked, outcome }: Props) => {
  const { call, check, run } = outcome
  const { mayDecide } = useOperator()
  const [chosen, setChosen] = useState<Answer>()
  const { answers, known } = askedOf(outcome)
  const send = async (answer: Answer, more: object): Promise<void> => {
    const checks = [{ spanId: call.spanId, answer, ...more }]
    await request("POST", `operator/runs/${encodeURIComponent(run.runId)}/outcomes`, { body: { checks } })
    setChosen(undefined)
    onChecked()
  }
  return (
    <article className="approval check" aria-label={`${call.tool} is to be checked`}>
      <header>
        <h3>{call.tool}</h3>
        <span className="chip warn">{call.state === "not_undone" ? "not undone" : "outcome unknown"}</span>
        {isInInbox
          ? <a href={hrefOf({ page: "runs", runId: run.runId })}>{run.agent} of {run.owner ?? "no owner"}</a>
          : null}
        <span className="when">{moment(call.at)}</span>
      </header>
      <p>{known}</p>
      {call.arguments === undefined ?
        null :
        (
          <pre
            tabIndex={0}
            role="region"
            aria-label={`Arguments of ${call.tool}, ${run.runId} ${call.callId}`}
          >{pretty(call.arguments)}</pre>
        )}
      <p className="key">
        {call.state === "not_undone"
          ? null
          : call.hasCompensation !== true
          ? "Its tool declares no compensation: if it has happened, it is undone by hand. "
          : (
            <>
              Its tool declares how it is undone.{" "}
              <a href={hrefOf({ page: "runs", runId: run.runId }, { tab: "Undo" })}>Undo it</a>.{" "}
            </>
          )}
        {call.entry === undefined
          ? "The call has no idempotency key of its own: a call of another run does not know of it."
          : (
            <>
              Entry of its key in the ledger: <code>{call.entry}</code>
            </>
          )}
      </p>
      {check === undefined ? null : (
        <p className="checked">
          {found[check.answer]}: {check.by}, {moment(check.at)}
          {check.note === undefined ? "" : `. ${seen(check.note)}`}
        </p>
      )}
      {!mayDecide
        ? <p className="key">Somebody with the right to decide has to record what has happened.</p>
        : chosen === undefined
        ? (
          <div className="actions">
            {answers.map((answer) => (
              <Button key={answer} size="small" onClick={() => setChosen(answer)}>{found[answer]}</Button>
            ))}
          </div>
        )
        : (
          <CheckForm
            key={chosen}
            answer={chosen}
            hasKey={call.entry !== undefined}
            onBack={() => setChosen(undefined)}
            onSend={(more) => send(chosen, more)}
          />
        )}
    </article>
  )
}

interface EntryProps {
  readonly entry: LedgerEntry
  readonly onChecked: () => void
}

/** An entry of the ledger without a known run. */
const EntryCard = ({ entry: { callId, id, leasedUntil, startedAt, tool }, onChecked }: EntryProps) => {
  const { mayDecide } = useOperator()
  const [chosen, setChosen] = useState<Answer>()
  const send = async (answer: Answer, more: object): Promise<void> => {
    await request("POST", `operator/ledger/${encodeURIComponent(id)}`, { body: { answer, ...more } })
    onChecked()
  }
  return (
    <article className="approval check" aria-label={`${tool}, entry of the ledger, is to be checked`}>
      <header>
        <h3>{tool}</h3>
        <span className="chip warn">outcome unknown</span>
        <span className="owner">in the ledger alone</span>
        <span className="when">{moment(startedAt)}</span>
      </header>
      <p>
        The call {seen(callId)} was started, and its process has ended: its lease was over at {moment(leasedUntil)}.
      </p>
      <p className="key">
        Entry of its key: <code>{id}</code>. Your answer is given to the next call with the same key.
      </p>
      {!mayDecide
        ? <p className="key">Somebody with the right to decide has to record what has happened.</p>
        : chosen === undefined
        ? (
          <div className="actions">
            {(["happened", "not_happened"] as const).map((answer) => (
              <Button
                key={answer}
                size="small"
                onClick={() => setChosen(answer)}
              >
                {found[answer]}
              </Button>
            ))}
          </div>
        )
        : (
          <CheckForm
            key={chosen}
            answer={chosen}
            hasKey
            onBack={() => setChosen(undefined)}
            onSend={(more) => send(chosen, more)}
          />
        )}
    </article>
  )
}

interface ChecksProps {
  readonly outcomes: ReadonlyArray<OpenOutcome>
  readonly entries: ReadonlyArray<LedgerEntry>
  readonly onChecked: () => void
}

export const Checks = ({ entries, onChecked, outcomes }: ChecksProps) => (
  <section className="inbox" aria-labelledby="checks">
    <h2 id="checks">To be checked</h2>
    {outcomes.length + entries.length === 0
      ? <p className="empty">No call is left of which it is unknown if it has happened.</p>
      : (
        <p className="lead">
          These calls may have changed something. Look it up where they write, and record what you find.
        </p>
      )}
    {outcomes.map((outcome) => (
      <CheckCard
        key={`${outcome.run.runId} ${outcome.call.spanId}`}
        outcome={outcome}
        onChecked={onChecked}
        isInInbox
      />
    ))}
    {entries.map((entry) => <EntryCard key={entry.id} entry={entry} onChecked={onChecked} />)}
  </section>
)
