/** The current run: its identity, its account, its listeners. Ambient, so that nesting needs no wiring. */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import type { Account } from "./account.ts"
import { type Audience, emitTo } from "./observe/listeners.ts"
import type { NestedRuns } from "./nestedRuns.ts"
import type { RunLog } from "./runLog.ts"
import { type Counts, type Reading, sectionOf, type Writes } from "./state/runState.ts"
import type { Tracing } from "./observe/span.ts"

export interface RunStart {
  /** The call of the agent around it within which the agent runs. */
  readonly outerCall: { readonly id: string; readonly record: object } | undefined
  /** The path of the run in its journal: the same in each execution of the outermost run. */
  readonly place: string
  /** True if its id was drawn, so that another process cannot use it again. */
  readonly hasDrawnId: boolean
  /** True if it was paused, or is part of a paused run, and continues only to be compensated. */
  readonly isOver: boolean
  /** True if the caller of the run can receive a pause. */
  readonly mayPause: boolean
  /** True if model calls are to be streamed. */
  readonly streaming: boolean
  readonly tracing: Tracing
}

export interface Run {
  readonly id: string
  /** Names this run of this agent: the run's id for the outermost one. */
  readonly agentRunId: string
  readonly parent: Run | undefined
  /** Names of the agents from the outermost to this one. */
  readonly path: ReadonlyArray<string>
  /** Separates calls with the same id: the run, and the outer calls of nested agents. */
  readonly scope: string
  readonly start: RunStart
  /** The log of the run, if it has a journal; one for the run and everything nested in it. */
  readonly log: RunLog | undefined
  readonly clock: Clock.Clock
  readonly account: Account
  readonly audience: Audience | undefined
  readonly nested: NestedRuns
  readonly counts: Counts
  readonly writes: Writes<Run>
  readonly reading: Reading
}

/** Known facts of an ended run. Default: those of a run that starts. */
export type Over = Partial<Pick<Run, "agentRunId"> & Pick<RunStart, "outerCall">>

/**
 * Returns a section of a run: it is the run, with a budget account and a tally of its own. For a call, because others
 * run in parallel.
 */
export const runSection = (run: Run): Run => ({
  ...run,
  account: run.account.section(run.account.agent, {}),
  counts: sectionOf(run)
})

/** The run of the agent that is running, if any. */
export const CurrentRun: Context.Reference<Run | undefined> = Context.Reference<Run | undefined>(
  "@recourse/core/CurrentRun",
  { defaultValue: () => undefined }
)

type WithoutCommon<E> = E extends unknown ? Omit<E, "runId" | "agentRunId" | "parent" | "path" | "sequence" | "at">
  : never

/** An event without the common fields. */
export type EventBody = WithoutCommon<AgentEvent>

/**
 * Sends an event to the listeners of the run, in one step. `make` builds the whole event, and is not called without
 * listeners.
 */
export const emitWhole = (
  run: Run | undefined,
  make: (run: Run, sequence: number, at: number) => AgentEvent
): Effect.Effect<void> => {
  const audience = run?.audience
  if (audience === undefined) return Effect.void
  return Effect.withFiber((fiber) => {
    const { emitted } = audience
    if (emitted.isOver) return Effect.void
    const event = make(run!, emitted.events++, run!.clock.currentTimeMillisUnsafe())
    if (event._tag === "RunFinished") emitted.isOver = true
    return emitTo(audience, event, fiber)
  })
}

/** Sends an event to the listeners of the run, in one step; `body` has the event's own fields. */
export const emit = (run: Run | undefined, body: () => EventBody): Effect.Effect<void> =>
  emitWhole(run, ({ agentRunId, id, parent, path, start: { outerCall } }, sequence, at) => ({
    runId: id,
    agentRunId,
    ...(parent === undefined ? undefined : {
      parent: { agentRunId: parent.agentRunId, ...(outerCall === undefined ? undefined : { callId: outerCall.id }) }
    }),
    path,
    sequence,
    at,
    ...body()
  } as AgentEvent))
