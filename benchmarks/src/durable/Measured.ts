/** Measurements of durable runs. */
import type { Origin } from "../Results.ts"

/** Measurements of one process, or of the processes of one round. Absent: not measured. */
export interface Measured {
  /** Milliseconds of a step in runs of 20 steps, one at a time. */
  readonly alone?: number
  /** Milliseconds of a run of 200 steps. */
  readonly longer?: number
  /** Steps a second of 50 runs at a time. */
  readonly perSecond?: number
  /** Milliseconds of a run of many steps. */
  readonly long?: number
  /** Milliseconds until that run, whose process was killed behind its last step, has ended. */
  readonly resumed?: number
  /** Milliseconds until all runs wait for a person. */
  readonly waiting?: number
  /** MiB that these hold. */
  readonly heap?: number
}

/** A contestant over a database. */
export interface Line {
  readonly name: string
  readonly over: string
  readonly rounds: ReadonlyArray<Measured>
}

export interface DurableResults extends Origin {
  readonly network: string | undefined
  readonly runs: number
  readonly long: number
  readonly waiting: number
  readonly lines: ReadonlyArray<Line>
}

/** The best of all rounds: other work on the machine makes a round slower, and none faster. */
export const bestOf = ({ rounds }: Line): Measured => {
  const best: Record<string, number> = {}
  for (const round of rounds) {
    for (const [key, value] of Object.entries(round) as Array<[keyof Measured, number]>) {
      const before = best[key]
      best[key] = before === undefined ? value : key === "perSecond" ? Math.max(before, value) : Math.min(before, value)
    }
  }
  return best
}

/** Milliseconds of a step without the start and the end of its run, which 180 more steps have once. */
export const stepOf = ({ alone, longer }: Measured): number | undefined =>
  alone === undefined || longer === undefined ? undefined : (longer - 20 * alone) / 180
