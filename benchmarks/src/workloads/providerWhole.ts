import type { Workload } from "../Workload.ts"
import { shippedProvider } from "./shippedProvider.ts"

export const workload: Workload = shippedProvider({
  title: "One tool call, then text, through the shipped provider, by number of tools",
  streamed: false,
  text: ["It is 42."]
})
