/** A question of a client tool as a form: its answer is the result of the call, `{ answer }`. */
import { type FormEvent, useId, useState } from "react"
import { Button } from "../shared/Button.tsx"
import { Icon } from "../shared/Icon.tsx"
import { questionIn } from "./questionForm.ts"
import type { ShownCall } from "./parts.ts"

/** The result of the call, or no answer of the reader. */
export type Answered = { readonly answer: string | boolean | ReadonlyArray<string> } | undefined

interface Props {
  readonly call: ShownCall
  readonly onAnswer: (tool: string, callId: string, answered: Answered) => void
}

export const QuestionForm = ({ call: { part }, onAnswer }: Props) => {
  const [text, setText] = useState("")
  const [chosen, setChosen] = useState<ReadonlyArray<string>>([])
  const id = useId()
  const question = part.state === "input-available" ? questionIn(part.input) : undefined
  if (question === undefined) return null
  const answer = (answered: Answered): void => onAnswer(part.toolName, part.toolCallId, answered)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (question.kind === "text" && text.trim() !== "") answer({ answer: text.trim() })
    if (question.kind === "choice" && chosen.length > 0) {
      answer({ answer: question.isMultiple ? chosen : chosen[0]! })
    }
  }
  const canSend = question.kind === "text" ? text.trim() !== "" : chosen.length > 0
  return (
    <section className="approval question-form" aria-labelledby={id}>
      <h2 id={id}>
        <Icon name="question" />
        <span dir="auto">{question.question}</span>
      </h2>
      <form onSubmit={submit}>
        {question.kind === "choice"
          ? (
            <fieldset aria-labelledby={id}>
              {question.choices.map((choice) => (
                <label key={choice} className="choice">
                  <input
                    type={question.isMultiple ? "checkbox" : "radio"}
                    name={id}
                    checked={chosen.includes(choice)}
                    onChange={(event) =>
                      setChosen(
                        !question.isMultiple
                          ? [choice]
                          : event.target.checked
                          ? [...chosen, choice]
                          : chosen.filter((other) => other !== choice)
                      )}
                  />
                  <span dir="auto">{choice}</span>
                </label>
              ))}
            </fieldset>
          )
          : question.kind === "text"
          ? (
            <textarea
              className="field"
              rows={2}
              dir="auto"
              aria-labelledby={id}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )
          : null}
        <div className="approval-actions">
          {question.kind === "confirmation"
            ? (
              <>
                <Button variant="primary" icon="check" onClick={() => answer({ answer: true })}>Yes</Button>
                <Button onClick={() => answer({ answer: false })}>No</Button>
              </>
            )
            : <Button type="submit" variant="primary" icon="send" disabled={!canSend}>Answer</Button>}
          <Button variant="quiet" onClick={() => answer(undefined)}>Do not answer</Button>
        </div>
      </form>
    </section>
  )
}
