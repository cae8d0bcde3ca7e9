import type { Task } from "./Task.ts"

/** Runs the prepared program once, to the model's last text. */
export type Run = () => Promise<string>

/** A way to do the work. `prepare` makes reusable parts (agent, tools, model), like an application. */
export interface Contestant {
  readonly prepare: (task: Task) => Promise<Run>
  /** The same through the streaming API; absent without one. */
  readonly prepareStream?: (task: Task, onDelta: (delta: string) => void) => Promise<Run>
  /**
   * Runs until the tool waits for a person. Resolves to a program's stored state for the resumption, and fails if no
   * call waits.
   */
  readonly preparePause?: (task: Task) => Promise<() => Promise<object>>
}

/** Contestants, in the order of the tables. */
export const contestantNames = [
  "floor",
  "effect Toolkit.handle",
  "effect/ai",
  "recourse",
  "recourse, all recoveries",
  "AI SDK",
  "OpenAI Agents",
  "LangChain"
] as const

export type ContestantName = typeof contestantNames[number]

/** Everybody but the one that is for `declaredRecoveries` alone. */
export const everybody: ReadonlyArray<ContestantName> = contestantNames.filter((name) =>
  name !== "recourse, all recoveries"
)
