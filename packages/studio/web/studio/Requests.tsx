/** Requests to the model: their messages, and the new part. */
import { useState } from "react"
import { announce } from "../shared/announce.ts"
import { request } from "../shared/api.ts"
import { seen, visible } from "../shared/exact.ts"
import type { Message, Request, RunTimeline } from "@recourse/server/RunTimeline"
import { Button } from "../shared/Button.tsx"
import { pretty } from "./format.ts"
import { differenceOf, messageChanges } from "./requestDiff.ts"
import { fileOf, redactedRequest, saveText } from "./savedRun.ts"

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
  const folded = isOpen ? 0 : Math.min(request.unchanged, messages.length)
  return (
    <div className="request">
      <p className="request-facts">
        Turn {request.turn} of <strong>{request.agent}</strong>, {messages.length} messages, {request.tools.length}{" "}
        tools{request.tools.length === 0 ? "" : `: ${request.tools.join(", ")}`}
        {request.toolChoice === undefined ? "" : `; choice: ${request.toolChoice}`}
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
          <MessageText key={index} message={message} isNew={index + folded >= request.unchanged} />
        ))}
      </ol>
    </div>
  )
}

const looks = { same: "as before", gone: "gone", new: "new", changed: "changed" } as const

/** The difference of two requests. */
const RequestDifference = (
  { after, before, timeline }: { readonly before: Request; readonly after: Request; readonly timeline: RunTimeline }
) => {
  const changes = messageChanges(timeline.messages(before), timeline.messages(after))
  const tools = differenceOf(before.tools, after.tools, (tool) => tool).filter(({ change }) => change !== "same")
  const same = changes.filter(({ change }) => change === "same").length
  return (
    <div className="request difference">
      <p className="request-facts">
        {same === 1 ? "1 message is the same" : `${same} messages are the same`}, {changes.length - same}{" "}
        differ{tools.length === 0 ? "; the tools are the same" : ""}.
      </p>
      {tools.length === 0 ? null : (
        <p>
          Tools:{" "}
          {tools.map(({ change, value }) => (
            <code key={value} className={change === "new" ? "line-new" : "line-gone"}>
              {change === "new" ? "+" : "−"} {value}
            </code>
          ))}
        </p>
      )}
      <ol>
        {changes.map(({ change, lines, role }, index) => (
          <li key={index} className="message">
            <span className="role">
              {role} <span className={change === "same" ? "chip" : "chip accent"}>{looks[change]}</span>
            </span>
            {change === "same"
              ? <p className="key">{visible(lines[0]?.value ?? "").slice(0, 120)}</p>
              : (
                <pre tabIndex={0} role="region" aria-label={`Lines of message ${index + 1}`}>
                  {lines.map(({ change, value }, at) => (
                    <span key={at} className={`line-${change}`}>
                      <span className="sign">{change === "new" ? "+ " : change === "gone" ? "− " : "  "}</span>
                      {seen(value)}{"\n"}
                    </span>
                  ))}
                </pre>
              )}
          </li>
        ))}
      </ol>
    </div>
  )
}

/** Copies or saves a request as the log has it, without secrets. */
const SaveRequest = ({ number, runId }: { readonly runId: string; readonly number: number }) => {
  const [problem, setProblem] = useState<string>()
  const read = async (): Promise<string> => {
    const log = await (await request("GET", `operator/runs/${encodeURIComponent(runId)}/log`)).text()
    return redactedRequest(log, number)
  }
  const act = (use: (text: string) => Promise<void> | void, done: string): void => {
    setProblem(undefined)
    read().then(use).then(() => announce(done), (error: Error) => setProblem(error.message))
  }
  return (
    <span className="actions">
      <Button
        size="small"
        icon="copy"
        onClick={() => act((text) => navigator.clipboard.writeText(text), "Copied")}
      >
        Copy
      </Button>
      <Button
        size="small"
        onClick={() => act((text) => saveText(`${fileOf(runId)}.request-${number}.json`, text), "Saved")}
      >
        Download
      </Button>
      {problem === undefined ? null : <span role="alert">{problem}</span>}
    </span>
  )
}

export const Requests = ({ runId, timeline }: { readonly runId: string; readonly timeline: RunTimeline }) => {
  const { requests } = timeline
  const [chosen, setChosen] = useState<number>()
  const [other, setOther] = useState<number>()
  const request = requests.find(({ number }) => number === chosen) ?? requests.at(-1)
  if (request === undefined) return <p className="empty">No request to a model is told in the events of this run.</p>
  const before = requests.find(({ number }) => number === other && number !== request.number)
  const nameOf = ({ agent, turn }: Request, index: number): string => `${index + 1}. ${agent}, turn ${turn}`
  return (
    <div className="requests">
      <div className="pickers">
        <label className="picker">
          Request
          <select className="field" value={request.number} onChange={(event) => setChosen(Number(event.target.value))}>
            {requests.map((one, index) => <option key={one.number} value={one.number}>{nameOf(one, index)}</option>)}
          </select>
        </label>
        {requests.length < 2 ? null : (
          <label className="picker">
            Compared with
            <select
              className="field"
              value={before?.number ?? ""}
              onChange={(event) => setOther(event.target.value === "" ? undefined : Number(event.target.value))}
            >
              <option value="">none</option>
              {requests.map((one, index) =>
                one.number === request.number
                  ? null
                  : <option key={one.number} value={one.number}>{nameOf(one, index)}</option>
              )}
            </select>
          </label>
        )}
        <SaveRequest runId={runId} number={request.number} />
      </div>
      {before === undefined
        ? <RequestText request={request} timeline={timeline} />
        : <RequestDifference before={before} after={request} timeline={timeline} />}
    </div>
  )
}
