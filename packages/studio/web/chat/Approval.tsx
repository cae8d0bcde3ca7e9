/** A question to the reader: may this call run, with exactly these arguments? */
import type { ApprovalDescriptor } from "@recourse/server/UiMessageChunk"
import { type FormEvent, useEffect, useId, useRef, useState } from "react"
import { Button } from "../shared/Button.tsx"
import { Icon } from "../shared/Icon.tsx"
import { ArgumentsForm, isEditable, type Values, valuesOf } from "./ArgumentsForm.tsx"
import { ArgumentList } from "./ArgumentList.tsx"
import type { ShownCall } from "./parts.ts"
import { humanized } from "./sentences.ts"
import type { Decision } from "./conversation.ts"

interface Props {
  readonly call: ShownCall
  readonly mayDecide: boolean
  readonly onDecide: (approvalId: string, decision: Decision) => void
}

type Mode = "asking" | "declining" | "editing"

const time = new Intl.DateTimeFormat("en", { hour: "numeric", minute: "2-digit", day: "numeric", month: "short" })

export const Approval = ({ call: { part }, mayDecide, onDecide }: Props) => {
  const [mode, setMode] = useState<Mode>("asking")
  const [reason, setReason] = useState("")
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    // A form that opens below the window would not be seen.
    if (mode !== "asking") section.current?.scrollIntoView({ block: "nearest" })
  }, [mode])
  const titleId = useId()
  const reasonId = useId()
  if (part.state !== "approval-requested") return null
  const { approval } = part
  const descriptor = approval.descriptor as unknown as ApprovalDescriptor | undefined
  const calls = descriptor?.calls ?? [
    { callId: part.toolCallId, tool: part.toolName, arguments: part.input, reasons: [], expiresAt: Infinity }
  ]
  const [first] = calls
  const reasons = [...new Set(calls.flatMap(({ reasons }) => reasons))]
  const expiresAt = Math.min(...calls.map(({ expiresAt }) => expiresAt))
  const canEdit = calls.length === 1 && first !== undefined && isEditable(first.arguments)
  const names = [...new Set(calls.map(({ tool }) => humanized(tool)))].join(", ")
  const decline = (event: FormEvent): void => {
    event.preventDefault()
    onDecide(approval.id, { approved: false, reason: reason.trim() === "" ? "The user declined." : reason.trim() })
  }
  return (
    <section ref={section} className="approval" aria-labelledby={titleId}>
      <h2 id={titleId}>
        <Icon name="shield" />
        <span>{names}: allow this?</span>
      </h2>
      {reasons.length === 0 ?
        null :
        <ul className="approval-reasons">{reasons.map((text) => <li key={text} dir="auto">{text}</li>)}</ul>}
      {mode === "editing" && first !== undefined
        ? (
          <ArgumentsForm
            values={valuesOf(first.arguments)}
            onCancel={() => setMode("asking")}
            onSubmit={(edited: Values) => onDecide(approval.id, { approved: true, edited })}
          />
        )
        : calls.map((waiting) => (
          <div key={waiting.callId} className="approval-call">
            {calls.length > 1 || waiting.tool !== part.toolName ? <h3>{humanized(waiting.tool)}</h3> : null}
            <ArgumentList value={waiting.arguments} />
          </div>
        ))}
      {Number.isFinite(expiresAt)
        ? (
          <p className="approval-expiry">
            <Icon name="clock" /> Open until{" "}
            <time dateTime={new Date(expiresAt).toISOString()}>{time.format(expiresAt)}</time>
          </p>
        )
        : null}
      {mayDecide ? null : <p className="approval-expiry">Somebody else has to decide about this.</p>}
      {mode === "declining"
        ? (
          <form className="approval-decline" onSubmit={decline}>
            <label className="label" htmlFor={reasonId}>Why not? The agent reads this. (You may leave it empty.)</label>
            <textarea
              id={reasonId}
              className="field"
              rows={2}
              dir="auto"
              autoFocus
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
            <div className="approval-actions">
              <Button type="submit" className="danger">Decline</Button>
              <Button variant="quiet" onClick={() => setMode("asking")}>Back</Button>
            </div>
          </form>
        )
        : null}
      {mode === "asking" && mayDecide
        ? (
          <div className="approval-actions">
            <Button variant="primary" icon="check" onClick={() => onDecide(approval.id, { approved: true })}>
              Allow
            </Button>
            <Button onClick={() => setMode("declining")}>Decline…</Button>
            {canEdit ? <Button icon="edit" variant="quiet" onClick={() => setMode("editing")}>Edit…</Button> : null}
          </div>
        )
        : null}
    </section>
  )
}
