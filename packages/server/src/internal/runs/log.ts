/** Event log of a run: numbered events that any number of readers follow, each at its own pace. */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { NumberedEvent } from "@recourse/core/Runs"

/** At most so many events go to a reader at once, so that one that is far behind does not hold the others up. */
const most = 256

/** The events of a run, in memory. */
export class EventLog {
  private readonly events: Array<NumberedEvent> = []
  private readonly readers = new Set<() => void>()
  private isOpen = true

  append(event: AgentEvent): void {
    this.events.push({ number: this.events.length, event })
    this.wake()
  }

  /** No more events come. */
  close(): void {
    this.isOpen = false
    this.wake()
  }

  /** The events from a number on; ends when the log is closed. */
  follow(from: number): Stream.Stream<NumberedEvent> {
    return Stream.fromPull(Effect.sync(() => {
      let position = Math.max(0, from)
      return Effect.flatMap(this.ready(() => position), () => {
        const next = this.events.slice(position, position + most)
        position += next.length
        return Arr.isArrayNonEmpty(next) ? Effect.succeed(next) : Cause.done()
      })
    }))
  }

  /** Waits until there is something at the position, or nothing more to come. */
  private ready(position: () => number): Effect.Effect<void> {
    return Effect.suspend(() =>
      position() < this.events.length || !this.isOpen ? Effect.void : Effect.callback<void>((resume) => {
        const go = () => resume(Effect.void)
        this.readers.add(go)
        return Effect.sync(() => void this.readers.delete(go))
      })
    )
  }

  private wake(): void {
    const readers = [...this.readers]
    this.readers.clear()
    for (const go of readers) go()
  }
}
