import type { Contestant, ContestantName } from "./Contestant.ts"
import type { ByForm, Form } from "./Form.ts"

/** Measurements of one process, by metric. */
export type Sample = Readonly<Record<string, number>>

export interface Metric {
  readonly name: string
  readonly unit: string
}

export interface Workload {
  readonly title: string
  readonly contestants: ReadonlyArray<ContestantName>
  /** Cases of the workload, each measured by itself. */
  readonly cases: ByForm<ReadonlyArray<number>>
  readonly metrics: ReadonlyArray<Metric>
  /** Number of processes that measure each contestant. */
  readonly rounds: ByForm<number>
  /** Measures one case, in a process of its own. Throws if the work was not done as it must be. */
  readonly measure: (options: {
    readonly name: ContestantName
    readonly load: () => Promise<Contestant>
    readonly size: number
    readonly form: Form
  }) => Promise<Sample>
}

/** The same cases in each form. */
export const always = <A>(value: A): ByForm<A> => ({ full: value, quick: value, check: value })
