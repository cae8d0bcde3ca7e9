import type { Contestant, ContestantName } from "./Contestant.ts"

/** The contestants. Each is loaded only in the process that measures it. */
export const contestants: Readonly<Record<ContestantName, () => Promise<{ readonly contestant: Contestant }>>> = {
  "floor": () => import("./contestants/floor.ts"),
  "effect Toolkit.handle": () => import("./contestants/effectToolkit.ts"),
  "effect/ai": () => import("./contestants/effectAi.ts"),
  recourse: () => import("./contestants/recourse.ts"),
  "recourse, all recoveries": () => import("./contestants/recourseRecovering.ts"),
  "AI SDK": () => import("./contestants/aiSdk.ts"),
  "OpenAI Agents": () => import("./contestants/openaiAgents.ts"),
  "LangChain": () => import("./contestants/langchain.ts")
}
