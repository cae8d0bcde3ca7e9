/** The current run: its identity, its account, its listeners. Ambient, so that nesting needs no wiring. */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import type { Account } from "./account.ts"
import { type Audience, emitTo } from "./observe/listeners.ts"
import type { RunLog } from "./runLog.ts"
import { type Counts, type Reading, sectionOf, type Writes } from "./state/runState.ts"
import type { Tracing } from "./observe/telemetry.ts"
import * as Equal from "effect/Equal"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

/** A nested run: the name of its agent, which a program may make again, the call in which it ran, and its input. */
export interface NestedRun {
  readonly agent: string
  readonly call: object | undefined
  readonly input: unknown
}

/** The end of an agent that is abandoned. */
export interface Cleanup {
  /** Compensates its writes. */
  readonly end: Effect.Effect<void, never, unknown>
  /** The context when it was abandoned. The services of its own agent are closed since, and `end` makes them again. */
  readonly context: Context.Context<never>
  /** The scope of its run, if it was interrupted. */
  readonly scope?: string | undefined
}

export class NestedRuns {
  private counts: Map<string, number> | undefined
  private failures: Array<NestedRun & { readonly exit: Exit.Exit<never, unknown> }> | undefined
  private fibers: Set<Fiber.Fiber<unknown, unknown>> | undefined
  /** Ends of abandoned agents that are pending; absent if there are none. */
  cleanups: ReadonlyArray<Cleanup> | undefined
  private withdrawals: Array<Effect.Effect<void>> | undefined
  /** Set when the run around them has ended; called when the last of them ends. */
  private onLast: (() => void) | undefined

  /** True if the run's steps are runs with ids of their own. */
  readonly hasSteps: boolean

  constructor(hasSteps: boolean, counts?: Readonly<Record<string, number>>) {
    this.hasSteps = hasSteps
    if (counts !== undefined) this.counts = new Map(Object.entries(counts))
  }

  /** Number of runs, by name. */
  state(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.counts ?? [])
  }

  /** Counts one more run by a name, and answers how many there are. */
  count(name: string): number {
    const counts = this.counts ??= new Map()
    const nth = (counts.get(name) ?? 0) + 1
    counts.set(name, nth)
    return nth
  }

  /** Notes the end of a nested run that has written and that did not succeed. */
  failed(run: NestedRun, exit: Exit.Exit<never, unknown>): void {
    ;(this.failures ??= []).push({ ...run, exit })
  }

  get hasFailures(): boolean {
    return this.failures !== undefined
  }

  /** The end of an equal run in the same call that has written and did not succeed, if there was one. */
  failureOf({ agent, call, input }: NestedRun): Exit.Exit<never, unknown> | undefined {
    return this.failures?.find((failed) =>
      failed.agent === agent && failed.call === call && Equal.equals(failed.input, input)
    )?.exit
  }

  /** Notes the fiber in which a run begins. */
  began(fiber: Fiber.Fiber<unknown, unknown>): void {
    ;(this.fibers ??= new Set()).add(fiber)
  }

  ended(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.fibers?.delete(fiber)
    if (!this.areRunning) this.onLast?.()
  }

  /** Notes that the run around them has ended. Calls `onLast` when the last of them ends. */
  end(onLast: () => void = () => {}): void {
    this.onLast = onLast
  }

  /** True if the outer run has ended. */
  get hasEnded(): boolean {
    return this.onLast !== undefined
  }

  /** Notes the end of an agent that is abandoned. It is run when it is known that the run does not resume the agent. */
  registerCleanup(cleanup: Cleanup): void {
    this.cleanups = [...this.cleanups ?? [], cleanup]
  }

  /** Returns the pending cleanups that match a predicate, once. */
  takeCleanups(isTaken: (cleanup: Cleanup) => boolean = () => true): ReadonlyArray<Cleanup> {
    const all = this.cleanups ?? []
    const others = all.filter((one) => !isTaken(one))
    this.cleanups = others.length === 0 ? undefined : others
    return all.filter(isTaken)
  }

  /** Notes the withdrawal of the questions of an agent that runs within the run other than as its tool. */
  addQuestion(withdraw: Effect.Effect<void>): void {
    ;(this.withdrawals ??= []).push(withdraw)
  }

  /** The withdrawals of their questions. */
  get questions(): ReadonlyArray<Effect.Effect<void>> {
    return this.withdrawals ?? []
  }

  /** True if some of them run. */
  get areRunning(): boolean {
    return this.fibers !== undefined && this.fibers.size > 0
  }

  interrupt(): void {
    for (const fiber of this.fibers ?? []) fiber.interruptUnsafe()
  }
}

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
