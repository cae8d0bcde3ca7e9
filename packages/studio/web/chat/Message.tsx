/** One message. A finished one is not rendered again while the next one is written. */
import { memo, useState } from "react"
import { IconButton } from "../shared/Button.tsx"
import { CopyButton } from "../shared/CopyButton.tsx"
import { Icon } from "../shared/Icon.tsx"
import { JsonView } from "../shared/JsonView.tsx"
import { SafeMarkdown } from "../shared/Markdown.tsx"
import { Approval } from "./Approval.tsx"
import { EditedMessage } from "./EditedMessage.tsx"
import { Feedback } from "./Feedback.tsx"
import { type Answered, QuestionForm } from "./QuestionForm.tsx"
import { Versions } from "./Versions.tsx"
import { AttachedFile } from "./AttachedFile.tsx"
import { type ChatMessage, type Shown, shownOf, textOf } from "./parts.ts"
import { budgetSentence, humanized } from "./sentences.ts"
import { NestedAgentLines, ToolCall } from "./ToolCall.tsx"
import type { Decision } from "./conversation.ts"

interface ItemProps {
  readonly item: Shown
  readonly isLast: boolean
  readonly onAnswer: (tool: string, callId: string, answered: Answered) => void
  readonly mayDecide: boolean
  readonly onDecide: (approvalId: string, decision: Decision) => void
}

const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url)

const Item = ({ isLast, item, mayDecide, onAnswer, onDecide }: ItemProps) => {
  switch (item.kind) {
    case "text":
      return <SafeMarkdown text={item.text} />
    case "reasoning":
      return (
        <details className="reasoning">
          <summary>
            <Icon name="spark" /> {item.isWritten ? "Thought about it" : "Thinking…"} <Icon name="chevron" />
          </summary>
          <p>{item.text}</p>
        </details>
      )
    case "call":
      return (
        <>
          <ToolCall call={item.call} />
          <Approval call={item.call} mayDecide={mayDecide} onDecide={onDecide} />
          {isLast ? <QuestionForm call={item.call} onAnswer={onAnswer} /> : null}
        </>
      )
    case "agent":
      return <NestedAgentLines agent={item.agent} />
    case "budget":
      return (
        <p className="aside">
          <Icon name="clock" /> {budgetSentence(item.budget)}
        </p>
      )
    case "skill":
      return (
        <p className="aside">
          <Icon name="spark" /> {humanized(item.skill)}
        </p>
      )
    case "joined":
      return (
        <section className="from-user joined" aria-label="You, while the agent worked">
          <div className="bubble">
            <p dir="auto">{item.text}</p>
          </div>
        </section>
      )
    case "output":
      return <JsonView label="Answer" value={item.output} />
    case "file":
      return <AttachedFile file={item.file} />
    case "sources":
      return (
        <section className="sources" aria-label="Sources">
          <h3>Sources</h3>
          <ol>
            {item.sources.map(({ id, title, url }) => (
              <li key={id}>
                {url !== undefined && isWebAddress(url)
                  ? <a href={url} target="_blank" rel="noopener noreferrer nofollow">{title}</a>
                  : title}
              </li>
            ))}
          </ol>
        </section>
      )
  }
}

interface Props {
  readonly message: ChatMessage
  /** The newest message, which may still change. */
  readonly isLast: boolean
  readonly isBusy: boolean
  readonly isUnsent: boolean
  readonly mayDecide: boolean
  readonly takesFeedback: boolean
  /** True if the reader may see the run itself. */
  readonly isOperator: boolean
  readonly onDecide: (approvalId: string, decision: Decision) => void
  readonly onAnswer: ItemProps["onAnswer"]
  readonly threadId: string
  /** Sends an edited message in a conversation of its own. */
  readonly onBranch: (messageId: string, text: string) => Promise<void>
  readonly onRetry: () => void
  readonly onSendAgain: () => void
}

const Ending = ({ isBusy, isLast, isOperator, message, onRetry }: Props) => {
  const { errorCode, errorText, outcome, runId } = message.metadata ?? {}
  const isWriting = isLast && isBusy
  if (isWriting || outcome === undefined || outcome === "success" || outcome === "paused") return null
  if (outcome === "interrupted") {
    return (
      <p className="aside">
        <Icon name="stop" /> Stopped.
      </p>
    )
  }
  return (
    <div className="failure" data-outcome={errorCode === "outcome_unknown" ? "unknown" : "failure"}>
      <Icon name={errorCode === "outcome_unknown" ? "question" : "warn"} />
      <div>
        <p dir="auto">{errorText ?? "Something went wrong."}</p>
        {runId === undefined ? null : (
          <p className="reference">
            Reference: <code>{runId}</code> <CopyButton text={runId} label="Copy the reference" />
            {isOperator ? <a href={`./studio#/runs/${encodeURIComponent(runId)}`}>Open the run</a> : null}
          </p>
        )}
      </div>
      {isLast
        ? (
          <button type="button" className="button small" onClick={onRetry}>
            <Icon name="retry" /> Try again
          </button>
        )
        : null}
    </div>
  )
}

export const Message = memo((props: Props) => {
  const { isBusy, isLast, isUnsent, mayDecide, message, onAnswer, onBranch, onDecide, onRetry, onSendAgain } = props
  const { takesFeedback, threadId } = props
  const [older, setOlder] = useState<ChatMessage>()
  const [isEdited, setEdited] = useState(false)
  if (message.role === "user") {
    const said = textOf(message)
    if (isEdited) {
      return (
        <article className="message from-user" aria-label="You">
          <EditedMessage
            text={said}
            onCancel={() => setEdited(false)}
            onSend={(text) => onBranch(message.id, text).then(() => setEdited(false))}
          />
        </article>
      )
    }
    return (
      <article className="message from-user" aria-label="You">
        <div className="bubble">
          {message.parts.map((part, index) =>
            part.type === "file"
              ? <AttachedFile key={index} file={part} />
              : part.type === "text"
              ? <p key={index} dir="auto">{part.text}</p>
              : null
          )}
        </div>
        {isUnsent && !isBusy
          ? (
            <p className="unsent" role="alert">
              <Icon name="warn" /> Not sent.{" "}
              <button type="button" className="button small" onClick={onSendAgain}>
                <Icon name="retry" /> Send again
              </button>
            </p>
          )
          : null}
        {isUnsent || isBusy || said === "" ? null : (
          <div className="message-actions">
            <CopyButton text={said} label="Copy message" />
            <IconButton
              variant="quiet"
              size="small"
              icon="edit"
              label="Edit and branch"
              onClick={() => setEdited(true)}
            />
          </div>
        )}
      </article>
    )
  }
  const shown = shownOf(older ?? message)
  const text = textOf(older ?? message)
  const versions = message.metadata?.versions
  const runId = message.metadata?.runId
  const isWriting = isLast && isBusy
  return (
    <article className="message from-agent" aria-label="Answer" aria-busy={isWriting}>
      {shown.map((item) => (
        <Item
          key={`${item.kind}-${item.key}`}
          item={item}
          isLast={isLast && !isBusy && older === undefined}
          mayDecide={mayDecide}
          onAnswer={onAnswer}
          onDecide={onDecide}
        />
      ))}
      <Ending {...props} />
      {isWriting || text === "" ? null : (
        <div className="message-actions">
          <CopyButton text={text} label="Copy answer" />
          {versions === undefined
            ? null
            : <Versions key={versions.length} threadId={threadId} runIds={versions} onShow={setOlder} />}
          {isLast
            ? <IconButton variant="quiet" size="small" icon="retry" label="Answer again" onClick={onRetry} />
            : null}
          {takesFeedback && runId !== undefined ? <Feedback runId={runId} /> : null}
        </div>
      )}
    </article>
  )
})
