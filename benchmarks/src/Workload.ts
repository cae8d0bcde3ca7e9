import type { Contestant, ContestantName } from "./Contestant.ts"

/** What one process measured, by metric. */
export type Sample = Readonly<Record<string, number>>

export interface Metric {
  readonly name: string
  readonly unit: string
}

export interface Workload {
  readonly title: string
  readonly contestants: ReadonlyArray<ContestantName>
  /** Cases of the workload, each measured by itself. */
  readonly cases: (quick: boolean) => ReadonlyArray<number>
  readonly metrics: ReadonlyArray<Metric>
  /** How many processes measure each contestant. */
  readonly rounds: (quick: boolean) => number
  /** Measures one case, in a process of its own. Throws if the work was not done as it must be. */
  readonly measure: (options: {
    readonly name: ContestantName
    readonly load: () => Promise<Contestant>
    readonly size: number
    readonly quick: boolean
  }) => Promise<Sample>
}

/** The workloads, in order. Each is loaded where it is needed. */
export const workloads = {
  W1: () => import("./workloads/W1.ts"),
  W2: () => import("./workloads/W2.ts"),
  W3: () => import("./workloads/W3.ts"),
  W4: () => import("./workloads/W4.ts"),
  W5: () => import("./workloads/W5.ts"),
  W6: () => import("./workloads/W6.ts"),
  W7: () => import("./workloads/W7.ts"),
  W8: () => import("./workloads/W8.ts"),
  W9: () => import("./workloads/W9.ts")
} as const satisfies Record<string, () => Promise<{ readonly workload: Workload }>>

export type WorkloadName = keyof typeof workloads
