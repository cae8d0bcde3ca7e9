/** Compared engines: they record each step of a job, and continue behind their records. */

/** Storage of a contestant's records. */
export type Place = { readonly postgres: string } | { readonly file: string }

/** An engine that is open. A job is steps that take no time: answers of a model and calls of a tool, in turn. */
export interface Engine {
  /** Runs a job to its end. */
  readonly run: (id: string, steps: number) => Promise<void>
  /** Starts a job that hangs behind its steps, and returns there: its process is killed then. */
  readonly cut?: (id: string, steps: number) => Promise<void>
  /** Ends a job that was cut. */
  readonly resume?: (id: string, steps: number) => Promise<void>
  /** Starts jobs that wait for a person, and comes back when all wait. */
  readonly wait?: (ids: ReadonlyArray<string>) => Promise<void>
  /** Decides about jobs that wait, and comes back when all have ended. */
  readonly wake?: (ids: ReadonlyArray<string>) => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens an engine: `isCut` if jobs are to hang at their ends. */
export type Open = (place: Place, isCut: boolean) => Promise<Engine>

/** Answer of a step: as long as the value of a bare insert. */
export const answer = (n: number): string => `result ${n}, and some words that a result may hold`
