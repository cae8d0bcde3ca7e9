/** Writes of a run that has ended, read from its events, with the outcomes of their compensations. */
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import { NotCompensated } from "../../ToolError.ts"
import { idWithin } from "../path/idsWithin.ts"

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
type Open = { -readonly [K in keyof EndedWrite]: EndedWrite[K] }

const isId = Schema.is(Schema.Struct({ id: Schema.String }))

/** Collects the writes of a run. */
class Collected {
  private readonly writes = new Map<string, Open>()
  /** The last executed arguments of each call. */
  private readonly arguments = new Map<string, string>()
  /** The agent around each nested one, and the call of it that this one runs within. */
  private readonly around = new Map<string, NonNullable<AgentEvent["parent"]>>()

  add(event: AgentEvent): void {
    if (event.parent !== undefined) this.around.set(event.agentRunId, event.parent)
    switch (event._tag) {
      case "ToolCallStarted":
      case "ToolAttempt":
        this.arguments.set(`${event.agentRunId} ${event.callId}`, event.arguments)
        return
      case "ToolResult":
        return this.result(event)
      case "ToolCompensated": {
        const { because, error, outcome } = event
        for (const write of this.writes.values()) {
          if (this.idIn(event.agentRunId, write) !== event.callId) continue
          write.compensated = {
            outcome,
            ...(because === undefined ? undefined : { because }),
            ...(error === undefined ? undefined : { error })
          }
        }
      }
    }
  }

  list(): ReadonlyArray<EndedWrite> {
    return [...this.writes.values()].map((write) => ({ ...write, callId: this.idIn(undefined, write)! }))
  }

  private result({ agentRunId, at, callId, code, path, tool, write }: Result): void {
    const key = `${agentRunId} ${callId}`
    const known = write?.known ?? (code === "outcome_unknown" ? "unknown" : undefined)
    if (known === undefined) return
    const { compensable } = write ?? {}
    this.writes.set(key, {
      id: isId(compensable) ? compensable.id : key,
      agentRunId,
      callId,
      tool,
      path,
      at,
      arguments: this.arguments.get(key) ?? "{}",
      known,
      compensable,
      compensated: undefined
    })
  }

  /** Returns the id of a write's call in an agent around it, by default in the outermost one. Returns undefined if that agent is not around it. */
  private idIn(outer: string | undefined, { agentRunId, callId }: Pick<Open, "agentRunId" | "callId">) {
    let id = callId
    for (let current = agentRunId; current !== outer;) {
      const around = this.around.get(current)
      if (around === undefined) return outer === undefined ? id : undefined
      if (around.callId !== undefined) id = idWithin(around.callId, id)
      current = around.agentRunId
    }
    return id
  }
}

/** Returns the writes of a run, in the order in which their results were emitted. */
export const endedWrites = (events: Iterable<AgentEvent>): ReadonlyArray<EndedWrite> => {
  const collected = new Collected()
  for (const event of events) collected.add(event)
  return collected.list()
}
