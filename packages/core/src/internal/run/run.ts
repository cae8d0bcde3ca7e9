/** The current run: its identity, its account, its listeners. Ambient, so that nesting needs no wiring. */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Prompt from "effect/ai/Prompt"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import type { Journal } from "../../Journal.ts"
import type { Account } from "./account.ts"
import type { DoneWrite, DoneWrites } from "./doneWrites.ts"
import { type Audience, tell } from "./listeners.ts"
import type { NestedRuns } from "./nestedRuns.ts"
import type { CompensatedCall, ExecutedCall, RunUsage } from "./record.ts"
import type { Replay } from "./replay.ts"
import type { Tracing } from "./tracing.ts"
import type { WriteLog } from "./writeLog.ts"

/** A write that a run has started, as its call's record knows it. */
export interface StartedWrite {
  readonly happened: "no" | "unknown" | "yes"
  readonly isCompensated: boolean
}

/** A call that an entry of the ledger answered. */
export interface LedgerAnswer {
  readonly run: Run
  /** The call of the run's conversation: the call itself, or the one that it was made in. */
  readonly root: string
}

/** Calls that were let on and run, by their records. */
export interface Admitted {
  /** Grows with each call that is let on. */
  version: number
  readonly calls: Map<object, { readonly agentRunId: string; readonly arguments: unknown }>
  /** Writes without a key of agents within calls, by their places: attempts of one call that run at once share a place. */
  readonly started: Map<string, { readonly write: StartedWrite; isRunning: boolean }>
}

export interface Run {
  readonly id: string
  /** Names this run of this agent: the run's id for the outermost one. */
  readonly agentRunId: string
  /** The call of the agent around it within which the agent runs. */
  readonly withinCall: { readonly id: string; readonly record: object } | undefined
  /** Names of the agents from the outermost to this one. */
  readonly path: ReadonlyArray<string>
  /** The skill that the agent has chosen for this run. */
  skill: string | undefined
  /** Tells calls with the same id apart: the run, and the calls that nested agents run within. */
  readonly scope: string
  readonly nested: NestedRuns
  /** Tools that are left out of requests until a time, in milliseconds since the epoch. */
  readonly hidden: Map<string, number>
  readonly account: Account
  /** Where the run's steps are recorded, if they are. */
  readonly journal: Journal | undefined
  /** What earlier executions have started, if the journal has any; one for the run and everything nested in it. */
  readonly replay: Replay | undefined
  /** Where the start and the end of its writes are stored, if they are: never besides a journal. */
  readonly writes: WriteLog | undefined
  /** Where the run stands in its journal: the same in each life of the outermost run. */
  readonly place: string
  /** What is counted besides, for a record of the journal. */
  readonly tally: {
    readonly usage: Record<string, number>
    readonly executed: Array<ExecutedCall>
    done: Array<DoneWrite>
    /** Ids of writes that are to be undone, as a person has refused a later call. */
    readonly revoked: Array<string>
  } | undefined
  /** Whether its id was drawn, so that another process cannot give it again. */
  readonly hasDrawnId: boolean
  readonly clock: Clock.Clock
  readonly tracing: Tracing
  readonly audience: Audience | undefined
  /** What the run has done that can be undone; none where neither it nor a run around it undoes anything. */
  readonly done: DoneWrites | undefined
  /** What became of the writes that the run was to undo, nested agents included. */
  readonly compensations: Array<CompensatedCall>
  /** Whether model calls are to be streamed. */
  readonly streaming: boolean
  /** What this agent and everything nested in it has used. */
  readonly usage: { -readonly [K in keyof RunUsage]: RunUsage[K] }
  /** The calls that reached an executor, of this agent and everything nested in it. */
  readonly executed: Array<ExecutedCall>
  /** Whether a write has begun, here or within, of which no ledger and no decision of a person tells whoever runs it again. */
  hasWritten: boolean
  /** The writes that have started in the run and in the runs nested in it. */
  readonly startedWrites: Array<StartedWrite>
  /** Calls that the ledger answered with another call's write, by the ids of their entries; one for the run and everything nested in it. */
  readonly ledgerAnswers: Map<string, Array<LedgerAnswer>>
  /** Calls that policies have let on and that run; one for the run and everything nested in it. */
  readonly admitted: Admitted
  /** Untrusted tools whose words the run has read, with those that the runs around it had read when it began. */
  readonly taintedBy: Array<string>
  /** Whether the caller of the run can receive a pause. */
  readonly mayPause: boolean
  readonly parent: Run | undefined
  /** Call off what agents within this run ask, other than as its tools. */
  readonly questions: Array<Effect.Effect<void>>
  /** Agents within this run that waited, or were cut off, and that nobody goes on with: undone when it is known that the run does not come back to them. */
  readonly owed: Array<Owed>
  /** Whether it waited, or stands in a run that did, and goes on only so far that it is undone. */
  readonly isOver: boolean
  /** The messages of the agent's last request to the model, where events tell of requests. */
  requested: ReadonlyArray<Prompt.Message>
  /** Set when the agent has ended; told when the last nested agent ends behind it. */
  ended: { readonly onLastNested?: () => void } | undefined
}

/** The end of an agent that is left. */
export interface Owed {
  /** Undoes what it has done. */
  readonly end: Effect.Effect<void, never, unknown>
  /** What was there when it was left. What an agent brings along is closed since, and stands in `end` anew. */
  readonly context: Context.Context<never>
  /** The scope of its run, if it was cut off. */
  readonly scope?: string | undefined
}

/** A run that is over, as it was known. Left out: as it is of a run that begins. */
export type Over = Partial<Pick<Run, "agentRunId" | "withinCall">>

/** The run of the agent that is running, if any. */
export const CurrentRun: Context.Reference<Run | undefined> = Context.Reference<Run | undefined>(
  "@recourse/core/CurrentRun",
  { defaultValue: () => undefined }
)

/** Adds the names of untrusted tools, each once. */
export const addTaint = (taintedBy: Array<string>, tools: ReadonlyArray<string>): void => {
  for (const tool of tools) if (!taintedBy.includes(tool)) taintedBy.push(tool)
}

type WithoutCommon<E> = E extends unknown ? Omit<E, "runId" | "agentRunId" | "parent" | "path" | "sequence" | "at">
  : never

/** An event without what every event has. */
export type EventBody = WithoutCommon<AgentEvent>

/** Sends an event to the listeners of the run, in one step; builds nothing without listeners. */
export const emit = (run: Run | undefined, body: () => EventBody): Effect.Effect<void> => {
  const audience = run?.audience
  if (audience === undefined) return Effect.void
  return Effect.withFiber((fiber) => {
    const { told } = audience
    if (told.isOver) return Effect.void
    const { agentRunId, clock, id, parent, path, withinCall } = run!
    const event = {
      runId: id,
      agentRunId,
      ...(parent === undefined ? undefined : {
        parent: { agentRunId: parent.agentRunId, ...(withinCall === undefined ? undefined : { callId: withinCall.id }) }
      }),
      path,
      sequence: told.events++,
      at: clock.currentTimeMillisUnsafe(),
      ...body()
    } as AgentEvent
    if (event._tag === "RunFinished") told.isOver = true
    return tell(audience, event, fiber)
  })
}

/** Adds to the usage of a run and of all its parents. */
export const use = (run: Run | undefined, kind: keyof RunUsage, amount: number): void => {
  for (let current = run; current !== undefined; current = current.parent) {
    current.usage[kind] = (current.usage[kind] ?? 0) + amount
    if (current.tally !== undefined) current.tally.usage[kind] = (current.tally.usage[kind] ?? 0) + amount
  }
}

/** Notes a write that has started in a run and in all runs around it. */
export const noteStartedWrite = (run: Run | undefined, write: StartedWrite): void => {
  for (let current = run; current !== undefined; current = current.parent) current.startedWrites.push(write)
}

/** Notes in a run, and in all that it is nested in, that a write has begun that nobody can ask about. */
export const noteWritten = (run: Run | undefined): void => {
  for (let current = run; current !== undefined; current = current.parent) current.hasWritten = true
}

/** Writes an execution into the record of a run and of all its parents. */
export const addExecuted = (run: Run | undefined, entry: ExecutedCall): void => {
  for (let current = run; current !== undefined; current = current.parent) {
    current.executed.push(entry)
    current.tally?.executed.push(entry)
  }
}
