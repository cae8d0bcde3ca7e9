/** Log: items in order that any number of readers follow, each at its own pace. A log bounds memory by its run, not by its readers. */
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"

/** At most so many items go to a reader at once, so that one that is far behind does not hold the others up. */
const most = 256

/** Why a reader goes on: there is something new, or it has waited for so long that its connection is to be kept alive. */
export type Woken = "new" | "beat"

/** Items in memory, with an end. */
export class Log<A> {
  readonly items: Array<A> = []
  private readonly waiting = new Set<(woken: Woken) => void>()
  private end: Exit.Exit<void> | undefined

  append(item: A): void {
    this.items.push(item)
    this.wake("new")
  }

  /** No more items come. Readers that have read everything end as this does. */
  close(end: Exit.Exit<void> = Exit.void): void {
    this.end ??= end
    this.wake("new")
  }

  /** Tells the readers that wait that nothing has come. */
  beat(): void {
    this.wake("beat")
  }

  /** The items from a position on, at most {@link most}; waits until there are some. Done when the log is closed. */
  next(position: number): Pull.Pull<Arr.NonEmptyReadonlyArray<A> | "beat"> {
    return Effect.suspend((): Pull.Pull<Arr.NonEmptyReadonlyArray<A> | "beat"> => {
      if (position < this.items.length) {
        return Effect.succeed(this.items.slice(position, position + most) as unknown as Arr.NonEmptyReadonlyArray<A>)
      }
      if (this.end !== undefined) return Exit.isSuccess(this.end) ? Cause.done() : Effect.failCause(this.end.cause)
      return Effect.flatMap(
        this.wait,
        (woken) => woken === "beat" ? Effect.succeed("beat" as const) : this.next(position)
      )
    })
  }

  /** The items from a position on; ends when the log is closed. */
  follow(from: number): Stream.Stream<A> {
    return Stream.fromPull(Effect.sync(() => {
      let position = Math.max(0, from)
      const pull: Pull.Pull<Arr.NonEmptyReadonlyArray<A>> = Effect.flatMap(
        Effect.suspend(() => this.next(position)),
        (items) => {
          if (items === "beat") return pull
          position += items.length
          return Effect.succeed(items)
        }
      )
      return pull
    }))
  }

  private readonly wait: Effect.Effect<Woken> = Effect.callback<Woken>((resume) => {
    const go = (woken: Woken) => resume(Effect.succeed(woken))
    this.waiting.add(go)
    return Effect.sync(() => void this.waiting.delete(go))
  })

  private wake(woken: Woken): void {
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const go of waiting) go(woken)
  }
}
