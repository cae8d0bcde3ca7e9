/** Messages between the parts of `pnpm mutate`: mutants, their outcomes, and the next ones. */
import { readFileSync } from "node:fs"

/** A small change of one place in one file. */
export interface Mutant {
  readonly id: string
  readonly file: string
  readonly line: number
  readonly column: number
  readonly mutator: string
  readonly original: string
  readonly replacement: string
  /** The line in which it starts, without spaces around: separates two positions with the same text. */
  readonly context: string
}

/** Outcome of a mutant. `uncovered`: no test runs its code. */
export interface Outcome {
  readonly id: string
  readonly status: "killed" | "timeout" | "survived" | "uncovered"
  readonly by?: string
}

/** Input of the process that runs the tests, in the file that `MUTATE_JOB` names. */
export interface Job {
  readonly files: ReadonlyArray<string>
  readonly tests: ReadonlyArray<string>
  /** Tests over this many milliseconds are left out: a law of a thousand programs for each mutant takes a week. */
  readonly slowest: number
  /** A mutant is said to survive when this many milliseconds of tests have not noticed it. */
  readonly each: number
  readonly mutantsFile: string
  /** A line of JSON for each mutant: `{ begins }` when its tests begin, then an `Outcome`. */
  readonly outcomesFile: string
  /** Milliseconds of tests by their names, from earlier runs. */
  readonly durationsFile: string
  /** Keys of mutants that need no run. */
  readonly skip: ReadonlyArray<string>
  /** Changes that no test can notice, which take the time of all tests that reach them. */
  readonly equivalent: ReadonlyArray<string>
}

export const jobOf = (environment: NodeJS.ProcessEnv): Job =>
  JSON.parse(readFileSync(environment["MUTATE_JOB"]!, "utf8")) as Job

/** The change of a mutant, also if the line has moved. */
export const changeOf = (
  { context, file, original, replacement }: Pick<Mutant, "context" | "file" | "original" | "replacement">
): string => `${file}: ${context}: ${original} => ${replacement}`

/** Identity of a mutant over runs: its id counts the mutants of one. */
export const keyOf = ({ column, file, line, original, replacement }: Mutant): string =>
  `${file}:${line}:${column} ${original} => ${replacement}`
