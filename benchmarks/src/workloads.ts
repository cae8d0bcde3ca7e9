import type { Workload } from "./Workload.ts"

/** The workloads, in order. Each is loaded on demand. */
export const workloads = {
  W1: () => import("./workloads/oneCall.ts"),
  W2: () => import("./workloads/manyTurns.ts"),
  W3: () => import("./workloads/parallelCalls.ts"),
  W4: () => import("./workloads/retriedCall.ts"),
  W5: () => import("./workloads/correctedCall.ts"),
  W6: () => import("./workloads/concurrentRuns.ts"),
  W7: () => import("./workloads/startUp.ts"),
  W8: () => import("./workloads/streaming.ts"),
  W9: () => import("./workloads/declaredRecoveries.ts"),
  W10: () => import("./workloads/providerWhole.ts"),
  W11: () => import("./workloads/providerStreamed.ts"),
  W12: () => import("./workloads/providerDeltas.ts"),
  W13: () => import("./workloads/correctedOutput.ts"),
  W14: () => import("./workloads/providerTurns.ts"),
  W15: () => import("./workloads/pausedRuns.ts"),
  W16: () => import("./workloads/wakingRuns.ts"),
  W17: () => import("./workloads/typeCheck.ts"),
  W18: () => import("./workloads/providerOfAiSdk.ts"),
  W19: () => import("./workloads/mcpCall.ts"),
  W20: () => import("./workloads/servedRequest.ts")
} as const satisfies Record<string, () => Promise<{ readonly workload: Workload }>>

export type WorkloadName = keyof typeof workloads

export const workloadNames = Object.keys(workloads) as ReadonlyArray<WorkloadName>
