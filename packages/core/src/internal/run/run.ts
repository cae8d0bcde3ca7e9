/** The current run: its identity, its account, its listeners. Ambient, so that nesting needs no wiring. */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import type { Journal } from "../../Journal.ts"
import type { Account } from "./account.ts"
import { type Audience, tell } from "./observe/listeners.ts"
import type { NestedRuns } from "./nestedRuns.ts"
import type { Replay } from "./replay.ts"
import { type Counts, sectionOf } from "./state/counts.ts"
import type { Reading } from "./state/reading.ts"
import type { RunStart } from "./state/start.ts"
import type { Writes } from "./state/writes.ts"

export interface Run {
  readonly id: string
  /** Names this run of this agent: the run's id for the outermost one. */
  readonly agentRunId: string
  readonly parent: Run | undefined
  /** Names of the agents from the outermost to this one. */
  readonly path: ReadonlyArray<string>
  /** Tells calls with the same id apart: the run, and the calls that nested agents run within. */
  readonly scope: string
  readonly start: RunStart
  /** Where the run's steps are recorded, if they are. */
  readonly journal: Journal | undefined
  /** What earlier executions have started, if the journal has any; one for the run and everything nested in it. */
  readonly replay: Replay | undefined
  readonly clock: Clock.Clock
  readonly account: Account
  readonly audience: Audience | undefined
  readonly nested: NestedRuns
  readonly counts: Counts
  readonly writes: Writes<Run>
  readonly reading: Reading
}

/** A run that is over, as it was known. Left out: as it is of a run that starts. */
export type Over = Partial<Pick<Run, "agentRunId"> & Pick<RunStart, "outerCall">>

/** Returns a section of a run: it is the run, and has a budget account and a tally for itself. For a call, because others run beside it. */
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

/** An event without what every event has. */
export type EventBody = WithoutCommon<AgentEvent>

/** Sends an event to the listeners of the run, in one step. `make` builds the whole event, and nothing is built without listeners. */
export const emitWhole = (
  run: Run | undefined,
  make: (run: Run, sequence: number, at: number) => AgentEvent
): Effect.Effect<void> => {
  const audience = run?.audience
  if (audience === undefined) return Effect.void
  return Effect.withFiber((fiber) => {
    const { told } = audience
    if (told.isOver) return Effect.void
    const event = make(run!, told.events++, run!.clock.currentTimeMillisUnsafe())
    if (event._tag === "RunFinished") told.isOver = true
    return tell(audience, event, fiber)
  })
}

/** Sends an event to the listeners of the run, in one step; `body` is what other events do not have. */
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
