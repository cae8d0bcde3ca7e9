/** Number of starts that the rate of a queue permits. */
import type { Queue } from "./host.ts"

/**
 * Returns the number of starts that are permitted now, and until when the rate is used up after some of them. `busy` is
 * until when it is used up: at most one period from now. A later time is of a slower rate, of another version of the agent, or
 * of a clock that was set back.
 */
export const permittedStarts = (
  { limit, perMillis }: NonNullable<Queue["rate"]>,
  busy: number,
  now: number
): { readonly count: number; readonly busyAfter: (starts: number) => number } => {
  const interval = perMillis / limit
  // Rounded up.
  const busyUntil = busy > now + perMillis + 1 ? now : Math.max(busy, now)
  return {
    count: Math.max(0, Math.floor((now + perMillis - busyUntil) / interval)),
    busyAfter: (starts) => Math.ceil(busyUntil + starts * interval)
  }
}
