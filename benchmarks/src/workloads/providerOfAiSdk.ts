import type { Workload } from "../Workload.ts"
import { callsThenText, shippedProvider } from "./shippedProvider.ts"

export const workload: Workload = shippedProvider({
  title: "W10 with `@recourse/ai-sdk` over the AI SDK's own provider, by number of tools",
  streamed: false,
  metric: "run",
  contestants: {
    recourse: async () => (await import("../providers/recourseOverAiSdk.ts")).contestant,
    "AI SDK": async () => (await import("../providers/aiSdk.ts")).contestant
  },
  cases: { full: [1], quick: [1], check: [20] },
  shape: (tools) => ({ tools, turns: callsThenText(1, ["It is 42."]), per: 1 })
})
