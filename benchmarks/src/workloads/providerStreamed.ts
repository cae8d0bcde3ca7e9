import type { Workload } from "../Workload.ts"
import { callsThenText, shippedProvider } from "./shippedProvider.ts"

const words = Array.from({ length: 20 }, (_, index) => `word${index} `)

export const workload: Workload = shippedProvider({
  title: "One tool call, then 20 text deltas, streamed through the shipped provider, by number of tools",
  streamed: true,
  metric: "run",
  cases: { full: [1, 60], quick: [1, 60], check: [20] },
  shape: (tools) => ({ tools, turns: callsThenText(1, words), per: 1 })
})
