import type { Workload } from "../Workload.ts"
import { callsThenText, shippedProvider } from "./shippedProvider.ts"

export const workload: Workload = shippedProvider({
  title: "A run of 100 turns with a tool call each, through the shipped provider",
  streamed: false,
  metric: "turn",
  cases: { full: [100], quick: [100], check: [60] },
  shape: (turns) => ({ tools: 1, turns: callsThenText(turns - 1, ["Done."]), per: turns })
})
