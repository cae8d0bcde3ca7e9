/** Changes of runs, told within this process: those who wait for a run need not ask the store at each moment. */
import * as Effect from "effect/Effect"
import type * as Duration from "effect/Duration"

/** The name under which those hear of a run who read its events; by its id alone, of its beginnings, waits and ends. */
export const eventsOf = (runId: string): string => `events ${runId}`

/** Who waits for which run. */
export class Changes {
  private readonly waiting = new Map<string, Set<() => void>>()

  /** A run has changed. */
  tell(runId: string): void {
    const told = this.waiting.get(runId)
    if (told === undefined) return
    this.waiting.delete(runId)
    for (const resume of told) resume()
  }

  /** Waits for the next change in this process; at most as long as said, as another one may have changed the run. */
  next(runId: string, atMost: Duration.Duration): Effect.Effect<void> {
    return Effect.raceFirst(
      Effect.callback<void>((resume) => {
        const told = this.waiting.get(runId) ?? new Set()
        this.waiting.set(runId, told)
        const one = () => resume(Effect.void)
        told.add(one)
        return Effect.sync(() => {
          told.delete(one)
          if (told.size === 0 && this.waiting.get(runId) === told) this.waiting.delete(runId)
        })
      }),
      Effect.sleep(atMost)
    )
  }
}
