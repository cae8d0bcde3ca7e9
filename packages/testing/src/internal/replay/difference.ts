/** Replay difference: the first place where a replay leaves its recording. */
import { Option } from "effect"
import type { AgentEvent } from "@recourse/core"
import { comparableInput } from "./conversationInput.ts"
import { textOf } from "../text/text.ts"
import { isSame, neutral } from "./requestText.ts"

/** Where a replay goes another way than the recording. */
export interface Difference {
  /** An event, or what the model was sent. */
  readonly kind: "event" | "request"
  /** Its place among those, from 0. */
  readonly index: number
  /** What was recorded there; nothing if the recording had ended. */
  readonly recorded: unknown
  /** What came in the replay; nothing if the replay had ended. */
  readonly replayed: unknown
}

/** The id of an agent's run without the id of the run that it is in. */
const agentRunOf = ({ agentRunId, runId }: AgentEvent.AgentEvent): string => agentRunId.slice(runId.length)

const timeless = { requestedAt: 0, expiresAt: 0 }

/** An event without what is the run's own. What the model was sent is compared by itself. */
const comparable = (event: AgentEvent.AgentEvent, hasEntries: boolean): string =>
  neutral(textOf({
    ...event,
    runId: "",
    agentRunId: agentRunOf(event),
    parent: undefined,
    sequence: 0,
    at: 0,
    transcript: undefined,
    compacted: undefined,
    replacedInput: undefined,
    ...("entry" in event && !hasEntries ? { entry: "" } : undefined),
    // A conversation is JSON in a log.
    ...("input" in event ? { input: comparableInput(event.input) } : undefined),
    ...("delay" in event ? { delay: 0 } : undefined),
    ...("expiresAt" in event ? timeless : undefined),
    // What waits at the same time has come to wait in any order.
    ...("pending" in event && event.pending !== undefined
      ? { pending: event.pending.map((call) => textOf({ ...call, ...timeless })).toSorted() }
      : undefined)
  }))

/** What happens in an order of its own: calls and agents that run at the same time may take turns in another way. */
const laneOf = (event: AgentEvent.AgentEvent): string =>
  `${agentRunOf(event)} ${event.path.join(" > ")} ${"callId" in event ? event.callId : ""}`

/** Executors are not run in a replay, so nothing is heard of how far they are and what they have so far. */
const isReplayed = ({ _tag }: AgentEvent.AgentEvent): boolean =>
  _tag !== "ToolProgress" && _tag !== "ToolPreliminaryResult"

const lanes = (events: ReadonlyArray<AgentEvent.AgentEvent>, hasEntries: boolean) =>
  Map.groupBy(
    events.flatMap((event, index) => isReplayed(event) ? [{ event, index, text: comparable(event, hasEntries) }] : []),
    ({ event }) => laneOf(event)
  )

/** The first event that differs. */
export const eventDifference = (
  recorded: ReadonlyArray<AgentEvent.AgentEvent>,
  replayed: ReadonlyArray<AgentEvent.AgentEvent>
): Option.Option<Difference> => {
  // A recording without secrets has no hashes of keys.
  const hasEntries = !recorded.some((event) => "entry" in event && event.entry === "")
  const before = lanes(recorded, hasEntries)
  const after = lanes(replayed, hasEntries)
  const differences = [...new Set([...before.keys(), ...after.keys()])].flatMap((lane): ReadonlyArray<Difference> => {
    const was = before.get(lane) ?? []
    const is = after.get(lane) ?? []
    const at = Array.from({ length: Math.max(was.length, is.length) }, (_, at) => at)
      .find((at) => was[at] === undefined || is[at] === undefined || !isSame(was[at].text, is[at].text))
    return at === undefined ? [] : [{
      kind: "event",
      index: Math.min(was[at]?.index ?? Infinity, is[at]?.index ?? Infinity),
      recorded: was[at]?.event,
      replayed: is[at]?.event
    }]
  })
  return Option.fromUndefinedOr(differences.toSorted((a, b) => a.index - b.index)[0])
}

/** A difference as text for people. */
export const print = ({ index, kind, recorded, replayed }: Difference): string =>
  [
    kind === "request"
      ? `The model is sent something else in call ${index + 1}; the last message is`
      : `Event ${index + 1} is another`,
    `- recorded: ${recorded === undefined ? "nothing" : textOf(recorded)}`,
    `+ replayed: ${replayed === undefined ? "nothing" : textOf(replayed)}`
  ].join("\n")
