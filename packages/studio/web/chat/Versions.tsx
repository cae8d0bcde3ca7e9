/** Versions of an answer: the newest one, and those that it has replaced. */
import { useState } from "react"
import { IconButton } from "../shared/Button.tsx"
import type { ChatMessage } from "./parts.ts"
import * as server from "./server.ts"

interface Props {
  readonly threadId: string
  readonly runIds: ReadonlyArray<string>
  readonly onShow: (message: ChatMessage | undefined) => void
}

export const Versions = ({ onShow, runIds, threadId }: Props) => {
  const [at, setAt] = useState(runIds.length - 1)
  const [problem, setProblem] = useState<string>()
  const show = (next: number): void => {
    setProblem(undefined)
    if (next === runIds.length - 1) {
      setAt(next)
      return onShow(undefined)
    }
    server.answer(threadId, runIds[next]!).then(
      ({ message }) => {
        setAt(next)
        onShow(message)
      },
      (error: Error) => setProblem(error.message)
    )
  }
  return (
    <span className="versions" role="group" aria-label="Versions of this answer">
      <IconButton
        variant="quiet"
        size="small"
        icon="chevron"
        className="back"
        label="Earlier answer"
        disabled={at === 0}
        onClick={() => show(at - 1)}
      />
      <span aria-live="polite">{at + 1} / {runIds.length}</span>
      <IconButton
        variant="quiet"
        size="small"
        icon="chevron"
        label="Later answer"
        disabled={at === runIds.length - 1}
        onClick={() => show(at + 1)}
      />
      {problem === undefined ? null : <span role="alert">{problem}</span>}
    </span>
  )
}
