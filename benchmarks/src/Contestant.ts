import type { Task } from "./Task.ts"

/** Runs the prepared program once, to the model's last text. */
export type Run = () => Promise<string>

/** A way to do the work. What can be made once (agent, tools, model) is made by `prepare`, as an application would. */
export interface Contestant {
  readonly prepare: (task: Task) => Promise<Run>
  /** The same through the streaming API; absent where there is none. */
  readonly prepareStream?: (task: Task, onDelta: (delta: string) => void) => Promise<Run>
  /** Runs until the tool waits for a person. Resolves to what a program keeps to resume the run, and fails if nothing waits. */
  readonly preparePause?: (task: Task) => Promise<() => Promise<object>>
}

/** Who is measured, in the order of the tables. */
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
