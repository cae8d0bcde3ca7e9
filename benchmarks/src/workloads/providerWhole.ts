import type { Workload } from "../Workload.ts"
import { callsThenText, shippedProvider } from "./shippedProvider.ts"

export const workload: Workload = shippedProvider({
  title: "One tool call, then text, through the shipped provider, by number of tools",
  streamed: false,
  metric: "run",
  cases: { full: [1, 20, 60], quick: [1, 20, 60], check: [20] },
  shape: (tools) => ({ tools, turns: callsThenText(1, ["It is 42."]), per: 1 })
})
