/** Writes of a run that has ended, read from its events, with the outcomes of their compensations. */
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import { NotCompensated } from "../../ToolError.ts"
import { idWithin } from "../path/path.ts"

/** A write of a run in its events. */
export interface EndedWrite {
  /** Unique among the writes of its run. */
  readonly id: string
  readonly agentRunId: string
  /** The call, with the calls of agents around it: `call_1/pay_1`. */
  readonly callId: string
  readonly tool: string
  readonly path: ReadonlyArray<string>
  /** When its result was emitted, in milliseconds since the epoch. */
  readonly at: number
  /** Its executed arguments in JSON. */
  readonly arguments: string
  readonly known: "done" | "unknown" | "partial" | "pending"
  /** The write as data, if it can be compensated. */
  readonly compensable: Schema.Json | undefined
  /** The outcome of its compensation by its own run. */
  readonly compensated: CompensationOutcome | undefined
}

/** Outcome of the compensation of a write. */
export const CompensationOutcome = Schema.Struct({
  outcome: Schema.Literals(["undone", "not_happened", "not_undone"]),
  because: Schema.optionalKey(NotCompensated.fields.because),
  error: Schema.optionalKey(Schema.String)
})

/** Outcome of the compensation of a write. */
export type CompensationOutcome = typeof CompensationOutcome.Type

type Result = Extract<AgentEvent, { readonly _tag: "ToolResult" }>

const isId = Schema.is(Schema.Struct({ id: Schema.String }))

/** The agent around each nested one, and the call of it that this one runs within. */
type Around = ReadonlyMap<string, NonNullable<AgentEvent["parent"]>>

/** Returns the id of a write's call in an agent around it, by default in the outermost one. Returns undefined if that agent is not around it. */
const idIn = (
  around: Around,
  outer: string | undefined,
  { agentRunId, callId }: Pick<EndedWrite, "agentRunId" | "callId">
): string | undefined => {
  let id = callId
  for (let current = agentRunId; current !== outer;) {
    const parent = around.get(current)
    if (parent === undefined) return outer === undefined ? id : undefined
    if (parent.callId !== undefined) id = idWithin(parent.callId, id)
    current = parent.agentRunId
  }
  return id
}

const keyOf = ({ agentRunId, callId }: Pick<EndedWrite, "agentRunId" | "callId">): string => `${agentRunId} ${callId}`

/** The write of a result, if the call has written. */
const writeOf = (
  { agentRunId, at, callId, code, path, tool, write }: Result,
  args: string | undefined
): EndedWrite | undefined => {
  const known = write?.known ?? (code === "outcome_unknown" ? "unknown" : undefined)
  if (known === undefined) return undefined
  const { compensable } = write ?? {}
  return {
    id: isId(compensable) ? compensable.id : keyOf({ agentRunId, callId }),
    agentRunId,
    callId,
    tool,
    path,
    at,
    arguments: args ?? "{}",
    known,
    compensable,
    compensated: undefined
  }
}

/** Returns the writes of a run, in the order in which their results were emitted. */
export const endedWrites = (events: Iterable<AgentEvent>): ReadonlyArray<EndedWrite> => {
  const writes = new Map<string, EndedWrite>()
  /** The last executed arguments of each call. */
  const executed = new Map<string, string>()
  const around = new Map<string, NonNullable<AgentEvent["parent"]>>()
  for (const event of events) {
    if (event.parent !== undefined) around.set(event.agentRunId, event.parent)
    if (event._tag === "ToolCallStarted" || event._tag === "ToolAttempt") executed.set(keyOf(event), event.arguments)
    else if (event._tag === "ToolResult") {
      const write = writeOf(event, executed.get(keyOf(event)))
      if (write !== undefined) writes.set(keyOf(event), write)
    } else if (event._tag === "ToolCompensated") {
      const { agentRunId, because, callId, error, outcome } = event
      const compensated = {
        outcome,
        ...(because === undefined ? undefined : { because }),
        ...(error === undefined ? undefined : { error })
      }
      for (const [key, write] of writes) {
        if (idIn(around, agentRunId, write) === callId) writes.set(key, { ...write, compensated })
      }
    }
  }
  return [...writes.values()].map((write) => ({ ...write, callId: idIn(around, undefined, write)! }))
}
