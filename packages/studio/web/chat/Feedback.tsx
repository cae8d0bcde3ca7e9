/** The reader's feedback on an answer: yes or no, with an optional reason. */
import { useId, useState } from "react"
import { announce } from "../shared/announce.ts"
import { Button, IconButton } from "../shared/Button.tsx"
import * as server from "./server.ts"

type Value = "up" | "down"

export const Feedback = ({ runId }: { readonly runId: string }) => {
  const [value, setValue] = useState<Value>()
  const [isAsking, setAsking] = useState(false)
  const [comment, setComment] = useState("")
  const id = useId()
  const send = (given: Value, why?: string): void => {
    server.feedback(runId, given, why).then(
      () => {
        setValue(given)
        setAsking(why === undefined && given === "down")
        announce("Thank you. Your feedback is noted.")
      },
      (error: Error) => announce(`Your feedback was not noted. ${error.message}`)
    )
  }
  const choice = (given: Value, label: string) => (
    <IconButton
      variant="quiet"
      size="small"
      icon={given === "up" ? "thumbUp" : "thumbDown"}
      label={label}
      aria-pressed={value === given}
      onClick={() => send(given)}
    />
  )
  return (
    <span className="feedback">
      {choice("up", "Good answer")}
      {choice("down", "Bad answer")}
      {isAsking
        ? (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              send("down", comment.trim())
            }}
          >
            <label htmlFor={id}>What was wrong?</label>
            <input
              id={id}
              className="field"
              value={comment}
              maxLength={4000}
              onChange={(event) => setComment(event.target.value)}
            />
            <Button type="submit" size="small" disabled={comment.trim() === ""}>Send feedback</Button>
          </form>
        )
        : null}
    </span>
  )
}
