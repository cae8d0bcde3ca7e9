/** The run that an effect is part of: its identity, its account, who listens. Ambient, so that nesting needs no wiring. */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { AgentEvent, Listener } from "../../AgentEvent.ts"
import type { Account } from "./account.ts"
import type { ExecutedCall, RunUsage } from "./record.ts"

export interface Run {
  readonly id: string
  /** Names of the agents from the outermost to this one. */
  readonly path: ReadonlyArray<string>
  /** Tells calls with the same id apart: the run, and the calls that nested agents run within. */
  readonly scope: string
  /** How many runs have begun within this one, by place. */
  readonly nested: Map<string, number>
  /** Tools that are left out of requests until a time, in milliseconds since the epoch. */
  readonly hidden: Map<string, number>
  readonly account: Account
  readonly clock: Clock.Clock
  readonly listener: Listener | undefined
  /** Whether model calls are to be streamed. */
  readonly streaming: boolean
  /** What this agent and everything nested in it has used. */
  readonly usage: { -readonly [K in keyof RunUsage]: RunUsage[K] }
  /** The calls that reached an executor, of this agent and everything nested in it. */
  readonly executed: Array<ExecutedCall>
  /** Untrusted tools whose output the run has read: one list for the run and everything nested in it. */
  readonly taintedBy: Array<string>
  readonly parent: Run | undefined
}

/** The run of the agent that is running, if any. */
export const CurrentRun: Context.Reference<Run | undefined> = Context.Reference<Run | undefined>(
  "@recourse/core/CurrentRun",
  { defaultValue: () => undefined }
)

type WithoutCommon<E> = E extends unknown ? Omit<E, "runId" | "path" | "at"> : never

/** An event without what every event has. */
export type EventBody = WithoutCommon<AgentEvent>

/** Sends an event to the run's listener; builds nothing when nobody listens. */
export const emit = (run: Run | undefined, body: () => EventBody): Effect.Effect<void> => {
  const listener = run?.listener
  if (run === undefined || listener === undefined) return Effect.void
  return Effect.suspend(() =>
    listener({ runId: run.id, path: run.path, at: run.clock.currentTimeMillisUnsafe(), ...body() } as AgentEvent)
  )
}

/** Adds to the usage of a run and of all its parents. */
export const use = (run: Run | undefined, kind: keyof RunUsage, amount: number): void => {
  for (let current = run; current !== undefined; current = current.parent) current.usage[kind] += amount
}
