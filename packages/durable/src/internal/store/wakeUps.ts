/** Wake-ups within a process: listeners of a store are notified at once of changes through it. */
import * as Effect from "effect/Effect"
import type { Host, WakeUp } from "./host.ts"

/** Listeners of a store. */
export class WakeUps {
  private readonly listeners = new Set<(wakeUp: WakeUp) => void>()

  /** Calls each listener. */
  emit(wakeUp: WakeUp): void {
    for (const listener of this.listeners) listener(wakeUp)
  }

  /** The operation `listen` of a host. */
  readonly listen: Host["listen"] = (listener) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          const one = (wakeUp: WakeUp): void => listener(wakeUp)
          this.listeners.add(one)
          return one
        }),
        (one) => Effect.sync(() => this.listeners.delete(one))
      )
    )
}
