/** Edits a sent message: the edited one begins a new conversation, with the messages before it. */
import { type FormEvent, useId, useState } from "react"
import { Button } from "../shared/Button.tsx"

interface Props {
  readonly text: string
  readonly onCancel: () => void
  readonly onSend: (text: string) => Promise<void>
}

export const EditedMessage = ({ onCancel, onSend, text: before }: Props) => {
  const [text, setText] = useState(before)
  const [problem, setProblem] = useState<string>()
  const [isSent, setSent] = useState(false)
  const id = useId()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (text.trim() === "") return
    setSent(true)
    setProblem(undefined)
    onSend(text.trim()).catch((error: Error) => {
      setSent(false)
      setProblem(error.message)
    })
  }
  return (
    <form className="edited" onSubmit={submit}>
      <label className="label" htmlFor={id}>
        The edited message begins a new conversation. This one stays as it is.
      </label>
      <textarea
        id={id}
        className="field"
        rows={3}
        dir="auto"
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {problem === undefined ? null : <p className="unsent" role="alert">{problem}</p>}
      <div className="approval-actions">
        <Button type="submit" variant="primary" size="small" disabled={isSent || text.trim() === ""}>
          Send as a branch
        </Button>
        <Button variant="quiet" size="small" onClick={onCancel}>Back</Button>
      </div>
    </form>
  )
}
