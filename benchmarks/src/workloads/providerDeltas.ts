import type { Workload } from "../Workload.ts"
import { callsThenText, shippedProvider } from "./shippedProvider.ts"

export const workload: Workload = shippedProvider({
  title: "2,000 text deltas and one call, streamed through the shipped provider",
  streamed: true,
  metric: "delta",
  cases: { full: [2_000], quick: [2_000], check: [100] },
  shape: (deltas) => ({
    tools: 1,
    turns: callsThenText(1, Array.from({ length: deltas }, (_, index) => `word${index} `)),
    per: deltas
  })
})
