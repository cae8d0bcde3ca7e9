/** Replay difference: the first position at which a replay diverges from its recording. */
import { Option } from "effect"
import type { AgentEvent } from "@recourse/core"
import { comparableInput } from "./conversationInput.ts"
import { textOf } from "../text/text.ts"
import { isSame, neutral } from "./requestText.ts"

/**
 * Position at which a replay diverges from the recording.
 *
 * @category models
 * @since 0.2.0
 */
export interface Difference {
  /** An event, or a request to the model. */
  readonly kind: "event" | "request"
  /** Its place among those, from 0. */
  readonly index: number
  /** The recorded value there; `undefined` if the recording had ended. */
  readonly recorded: unknown
  /** The replayed value; `undefined` if the replay had ended. */
  readonly replayed: unknown
}

/** The id of an agent's run without the id of the run that it is in. */
const agentRunOf = ({ agentRunId, runId }: AgentEvent.AgentEvent): string => agentRunId.slice(runId.length)

const timeless = { requestedAt: 0, expiresAt: 0 }

/** An event without the run's own values. Requests to the model are compared separately. */
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
    // Simultaneous waits have any order.
    ...("pending" in event && event.pending !== undefined
      ? { pending: event.pending.map((call) => textOf({ ...call, ...timeless })).toSorted() }
      : undefined)
  }))

/** Lanes of events with an order of their own: parallel calls and agents may interleave in another way. */
const laneOf = (event: AgentEvent.AgentEvent): string =>
  `${agentRunOf(event)} ${event.path.join(" > ")} ${"callId" in event ? event.callId : ""}`

/** Executors are not run in a replay, so there are no events of progress and preliminary results. */
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

/**
 * A difference as text for people.
 *
 * @category formatting
 * @since 0.2.0
 */
export const print = ({ index, kind, recorded, replayed }: Difference): string =>
  [
    kind === "request"
      ? `The model is sent something else in call ${index + 1}; the last message is`
      : `Event ${index + 1} is another`,
    `- recorded: ${recorded === undefined ? "nothing" : textOf(recorded)}`,
    `+ replayed: ${replayed === undefined ? "nothing" : textOf(replayed)}`
  ].join("\n")
