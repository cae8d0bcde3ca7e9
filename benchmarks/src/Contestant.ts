import type { Task } from "./Task.ts"

/** Runs the prepared program once, to the model's last text. */
export type Run = () => Promise<string>

/** A way to do the work. What can be made once (agent, tools, model) is made by `prepare`, as an application would. */
export interface Contestant {
  readonly prepare: (task: Task) => Promise<Run>
  /** The same through the streaming API; absent where there is none. */
  readonly prepareStream?: (task: Task, onDelta: (delta: string) => void) => Promise<Run>
}

/** The contestants, in the order of the table. Each is loaded only in the process that measures it. */
export const contestants = {
  "floor": () => import("./contestants/floor.ts"),
  "effect Toolkit.handle": () => import("./contestants/effectToolkit.ts"),
  "effect/ai": () => import("./contestants/effectAi.ts"),
  recourse: () => import("./contestants/recourse.ts"),
  "recourse, all recoveries": () => import("./contestants/recourseRecovering.ts"),
  "AI SDK": () => import("./contestants/aiSdk.ts"),
  "OpenAI Agents": () => import("./contestants/openaiAgents.ts"),
  "LangChain": () => import("./contestants/langchain.ts")
} as const satisfies Record<string, () => Promise<{ readonly contestant: Contestant }>>

export type ContestantName = keyof typeof contestants

/** Everybody but the one that is for W9 alone. */
export const everybody: ReadonlyArray<ContestantName> = [
  "floor",
  "effect Toolkit.handle",
  "effect/ai",
  "recourse",
  "AI SDK",
  "OpenAI Agents",
  "LangChain"
]
