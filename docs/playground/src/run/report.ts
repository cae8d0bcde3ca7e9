/** Report of a run: everything that the page shows of it, as plain data. */
import { Cause, Exit } from "effect"
import { Simulation, Timeline } from "@recourse/testing"

/** A line of the timeline: an event, an injected fault, or a request to the service. */
export interface TimelineLine {
  readonly at: string
  readonly kind: "event" | "fault" | "request"
  readonly text: string
}

/** A message of a request to the model. */
export interface Message {
  readonly role: string
  readonly parts: ReadonlyArray<{ readonly kind: string; readonly text: string; readonly isFailure: boolean }>
}

/** A request to the model. `from` is its first message that the request before it does not have. */
export interface ModelRequest {
  readonly messages: ReadonlyArray<Message>
  readonly from: number
}

/** A request to the service. */
export interface ServiceRequest {
  readonly details: string
  readonly key: string | undefined
  readonly effect: "read" | "done" | "repeated" | "compensated"
}

export interface Report {
  /** `success`, `defect`, or the tag of the error that ended the run. */
  readonly outcome: string
  /** The answer of the model, or the message of the error. */
  readonly text: string
  readonly timeline: ReadonlyArray<TimelineLine>
  readonly requests: ReadonlyArray<ModelRequest>
  readonly services: ReadonlyArray<ServiceRequest>
  /** Virtual milliseconds. */
  readonly elapsed: number
}

/** The part of a value of `Effect` that the page reads. */
type Observation = Parameters<typeof Simulation.outcome>[0]

const kinds = { " ": "event", "!": "fault", ">": "request" } as const

const timelineOf = (observed: Observation): ReadonlyArray<TimelineLine> =>
  Timeline.render(observed).split("\n").map((line) => {
    const [, at = "", mark = " ", text = line] = /^ *(\d+ ms) ([ !>]) (.*)$/s.exec(line) ?? []
    return { at, kind: kinds[mark as keyof typeof kinds], text }
  })

const json = (value: unknown): string => JSON.stringify(value, undefined, 2) ?? String(value)

const messageOf = ({ content, role }: Observation["requests"][number]["prompt"]["content"][number]): Message => ({
  role,
  parts: typeof content === "string" ? [{ kind: "text", text: content, isFailure: false }] : content.map((part) => {
    switch (part.type) {
      case "text":
        return { kind: "text", text: part.text, isFailure: false }
      case "tool-call":
        return {
          kind: `call ${part.name}`,
          text: typeof part.params === "string" ? part.params : json(part.params),
          isFailure: false
        }
      case "tool-result":
        return { kind: `result of ${part.name}`, text: json(part.result), isFailure: part.isFailure }
      default:
        return { kind: part.type, text: "", isFailure: false }
    }
  })
})

const requestsOf = ({ requests }: Observation): ReadonlyArray<ModelRequest> =>
  requests.map(({ prompt }, index) => ({
    messages: prompt.content.map(messageOf),
    from: Math.min(requests[index - 1]?.prompt.content.length ?? 0, prompt.content.length)
  }))

const servicesOf = ({ sideEffects }: Observation): ReadonlyArray<ServiceRequest> =>
  sideEffects.map(({ details, duplicate, key, read, compensates }) => ({
    details: JSON.stringify(details),
    key,
    effect: read === true ? "read" : duplicate ? "repeated" : compensates === undefined ? "done" : "compensated"
  }))

const textOf = ({ exit }: Observation): string => {
  if (Exit.isSuccess(exit)) return String(exit.value)
  const error = Cause.squash(exit.cause)
  return error instanceof Error ? error.message : String(error)
}

/** Reports an observed run. */
export const reportOf = (observed: Observation): Report => ({
  outcome: Simulation.outcome(observed),
  text: textOf(observed),
  timeline: timelineOf(observed),
  requests: requestsOf(observed),
  services: servicesOf(observed),
  elapsed: Math.round(observed.elapsed)
})
