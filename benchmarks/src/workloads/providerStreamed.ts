import type { Workload } from "../Workload.ts"
import { shippedProvider } from "./shippedProvider.ts"

export const workload: Workload = shippedProvider({
  title: "One tool call, then 20 text deltas, streamed through the shipped provider, by number of tools",
  streamed: true,
  text: Array.from({ length: 20 }, (_, index) => `word${index} `)
})
