/** Requests to the model: their messages, and the new part. */
import { useState } from "react"
import { CopyButton } from "../shared/CopyButton.tsx"
import { exact, seen } from "../shared/exact.ts"
import type { Message, Request, RunTimeline } from "@recourse/server/RunTimeline"
import { Button } from "../shared/Button.tsx"
import { pretty } from "./format.ts"

interface Part {
  readonly type?: string
  readonly text?: string
  readonly name?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly isFailure?: boolean
}

const PartText = ({ part }: { readonly part: Part }) => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return <p dir="auto">{part.text}</p>
    case "tool-call":
      return (
        <p>
          <code className="call">calls {part.name}</code>
          <code>{seen(JSON.stringify(part.params))}</code>
        </p>
      )
    case "tool-result":
      return (
        <div>
          <code className={part.isFailure === true ? "call bad" : "call"}>
            {part.isFailure === true ? "failure of" : "result of"} {part.name}
          </code>
          <pre tabIndex={0}>{pretty(part.result)}</pre>
        </div>
      )
    default:
      return <p>({part.type ?? "part"})</p>
  }
}

const MessageText = ({ isNew, message }: { readonly isNew: boolean; readonly message: Message }) => (
  <li className={isNew ? "message new" : "message"}>
    <span className="role">
      {message.role}
      {isNew ? <span className="chip accent">new</span> : null}
    </span>
    <div className="parts">
      {typeof message.content === "string"
        ? <p dir="auto">{message.content}</p>
        : (message.content as ReadonlyArray<Part>).map((part, index) => <PartText key={index} part={part} />)}
    </div>
  </li>
)

/** One request. The part that it shares with the previous one is folded. */
export const RequestText = (
  { request, timeline }: { readonly request: Request; readonly timeline: RunTimeline }
) => {
  const [isOpen, setOpen] = useState(false)
  const messages = timeline.messages(request)
  const folded = isOpen ? 0 : Math.min(request.kept, messages.length)
  return (
    <div className="request">
      <p className="request-facts">
        Turn {request.turn} of <strong>{request.agent}</strong>, {messages.length} messages, {request.tools.length}{" "}
        tools{request.tools.length === 0 ? "" : `: ${request.tools.join(", ")}`}
        {request.toolChoice === undefined ? "" : `; choice: ${request.toolChoice}`}{" "}
        <CopyButton label="Copy the request" text={exact({ messages, tools: request.tools })} />
      </p>
      {folded === 0
        ? null
        : (
          <Button size="small" variant="quiet" icon="chevron" onClick={() => setOpen(true)}>
            Show {folded} messages as before
          </Button>
        )}
      <ol>
        {messages.slice(folded).map((message, index) => (
          <MessageText key={index} message={message} isNew={index + folded >= request.kept} />
        ))}
      </ol>
    </div>
  )
}

export const Requests = ({ timeline }: { readonly timeline: RunTimeline }) => {
  const { requests } = timeline
  const [chosen, setChosen] = useState<number>()
  const request = requests.find(({ number }) => number === chosen) ?? requests.at(-1)
  if (request === undefined) return <p className="empty">No request to a model is told in the events of this run.</p>
  return (
    <div className="requests">
      <label className="picker">
        Request
        <select
          className="field"
          value={request.number}
          onChange={(event) => setChosen(Number(event.target.value))}
        >
          {requests.map(({ agent, number, turn }, index) => (
            <option key={number} value={number}>{index + 1}. {agent}, turn {turn}</option>
          ))}
        </select>
      </label>
      <RequestText request={request} timeline={timeline} />
    </div>
  )
}
