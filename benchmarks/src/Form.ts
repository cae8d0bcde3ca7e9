/**
 * Forms of a benchmark: `full` is published, `quick` is a first look, and `check` runs the work once to check its
 * correctness without measuring.
 */
export type Form = "full" | "quick" | "check"

/** One value for each form. */
export type ByForm<A> = Readonly<Record<Form, A>>

/** Number and duration of a contestant's measurements, in processor or wall time. */
export interface Times {
  /** Milliseconds of runs that are not measured. */
  readonly warmUp: number
  /** Milliseconds of runs that are measured. */
  readonly budget: number
  /** The fewest runs that are measured. */
  readonly atLeast: number
}

const once: Times = { warmUp: 0, budget: 0, atLeast: 1 }

/** Of runs that take less than a millisecond. After half a second a part of the processes still ran code that was not compiled. */
export const shortRuns: ByForm<Times> = {
  full: { warmUp: 1_500, budget: 500, atLeast: 5 },
  quick: { warmUp: 200, budget: 300, atLeast: 5 },
  check: once
}

/** Of runs that take many milliseconds. */
export const longRuns: ByForm<Times> = {
  full: { warmUp: 500, budget: 500, atLeast: 1 },
  quick: { warmUp: 200, budget: 300, atLeast: 1 },
  check: once
}

/** For a whole stack: its code is compiled late. */
export const deepRuns: ByForm<Times> = {
  full: { warmUp: 6_000, budget: 1_500, atLeast: 5 },
  quick: { warmUp: 800, budget: 400, atLeast: 5 },
  check: once
}

/** Number of processes that measure each contestant. */
export const fewRounds: ByForm<number> = { full: 3, quick: 1, check: 1 }
