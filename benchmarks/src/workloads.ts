import type { Workload } from "./Workload.ts"

/** The workloads, in order. Each is loaded where it is needed. */
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
  W11: () => import("./workloads/providerStreamed.ts")
} as const satisfies Record<string, () => Promise<{ readonly workload: Workload }>>

export type WorkloadName = keyof typeof workloads
