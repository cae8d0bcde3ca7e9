/** What is compared: engines that record each step of a job, and go on behind what is recorded. */

/** Where a contestant keeps what it records. */
export type Place = { readonly postgres: string } | { readonly file: string }

/** An engine that is open. A job is steps that take no time: answers of a model and calls of a tool, in turn. */
export interface Engine {
  /** Runs a job to its end. */
  readonly run: (id: string, steps: number) => Promise<void>
  /** Begins a job that stands still behind its steps, and comes back there: its process is killed then. */
  readonly cut?: (id: string, steps: number) => Promise<void>
  /** Ends a job that was cut. */
  readonly resume?: (id: string, steps: number) => Promise<void>
  /** Starts jobs that wait for a person, and comes back when all wait. */
  readonly wait?: (ids: ReadonlyArray<string>) => Promise<void>
  /** Decides about jobs that wait, and comes back when all have ended. */
  readonly wake?: (ids: ReadonlyArray<string>) => Promise<void>
  readonly close: () => Promise<void>
}

/** How an engine is opened: `isCut` if jobs are to stand still at their ends. */
export type Open = (place: Place, isCut: boolean) => Promise<Engine>

/** What a step answers: as long as the value of a bare insert is. */
export const answer = (n: number): string => `result ${n}, and some words that a result may hold`
