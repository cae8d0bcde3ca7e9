/** Compared contestants by name. Each is loaded only when it is measured. */
import type { Open } from "./engine.ts"

export const contestants: Readonly<Record<string, () => Promise<Open>>> = {
  bare: async () => (await import("./bare.ts")).bare,
  recourse: async () => (await import("./recourse.ts")).recourse("read"),
  "recourse, writes": async () => (await import("./recourse.ts")).recourse("write"),
  "recourse, cluster": async () => (await import("./recourse.ts")).recourse("read", "cluster"),
  dbos: async () => (await import("./dbos.ts")).dbos,
  langgraph: async () => (await import("./langgraph.ts")).langgraph
}
