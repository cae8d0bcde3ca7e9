/** Log: items in order that any number of readers follow, each at its own pace. A log bounds memory by its run, not by its readers. */
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"

/** At most so many items go to a reader at once, so that one that is far behind does not hold the others up. */
const most = 256

/**
 * Reason why a reader wakes: there is a new item, or it has waited for so long that its connection needs a sign of
 * life.
 */
export type Woken = "new" | "beat"

/** A stream that follows a log. */
export const following = <A, E>(
  find: () => Log<A> | undefined,
  from: number,
  missing: () => E
): Stream.Stream<A, E> => {
  const stream = Stream.suspend((): Stream.Stream<A, E> => find()?.follow(from) ?? Stream.fail(missing()))
  if (from === 0) logs.set(stream, find)
  return stream
}

type Items<A> = Arr.NonEmptyReadonlyArray<A>

const logs = new WeakMap<object, () => Log<unknown> | undefined>()

/**
 * The log that a stream follows from its first item, if there is one: a component with the log need not read the
 * stream.
 */
export const logOf = <A>(stream: Stream.Stream<A, unknown>): Log<A> | undefined =>
  logs.get(stream)?.() as Log<A> | undefined

/** Items in memory, with an end. */
export class Log<A> {
  readonly items: Array<A> = []
  private waiting = new Set<(woken: Woken) => void>()
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

  /** Wakes the waiting readers without an item. */
  beat(): void {
    this.wake("beat")
  }

  /** True if a reader at a position has an item to read, or the end. */
  has(position: number): boolean {
    return position < this.items.length || this.end !== undefined
  }

  /**
   * Continues with the items from a position on, at most {@link most}; waits until there are some. Done when the log is
   * closed. The items are read in the step that wakes the reader.
   */
  next<B>(position: number, read: (items: Items<A> | "beat") => Pull.Pull<B>): Pull.Pull<B> {
    return Effect.callback((resume) => {
      const go = (woken: Woken): void => {
        if (position < this.items.length) {
          resume(read(this.items.slice(position, position + most) as unknown as Items<A>))
        } else if (this.end !== undefined) {
          resume(Exit.isSuccess(this.end) ? Cause.done() : Effect.failCause(this.end.cause))
        } else if (woken === "beat") {
          resume(read("beat"))
        } else {
          this.waiting.add(go)
        }
      }
      go("new")
      return Effect.sync(() => void this.waiting.delete(go))
    })
  }

  /**
   * Passes each item from a position on to a function, synchronously with its arrival, until the function stops at one.
   * Returns the position of that one; `undefined` if the log is closed before. No fiber is woken for skipped items.
   */
  until(from: number, stops: (item: A) => boolean): Effect.Effect<number | undefined> {
    return Effect.suspend(() => {
      let position = from
      const step = Effect.callback<boolean>((resume) => {
        let isOver = false
        const go = (): void => {
          if (isOver) return
          const last = position + most
          try {
            for (; position < this.items.length; position++) {
              if (position === last) return resume(Effect.succeed(false))
              if (stops(this.items[position]!)) return resume(Effect.succeed(true))
            }
          } catch (error) {
            return resume(Effect.die(error))
          }
          if (this.end === undefined) this.waiting.add(go)
          else resume(Exit.isSuccess(this.end) ? Effect.succeed(true) : Effect.failCause(this.end.cause))
        }
        go()
        return Effect.sync(() => {
          isOver = true
          this.waiting.delete(go)
        })
      })
      const all: Effect.Effect<number | undefined> = Effect.flatMap(step, (isThere) =>
        isThere
          ? Effect.succeed(position < this.items.length ? position : undefined)
          : Effect.andThen(Effect.yieldNow, all))
      return all
    })
  }

  /** The items from a position on; ends when the log is closed. */
  follow(from: number): Stream.Stream<A> {
    return Stream.fromPull(Effect.sync(() => {
      let position = Math.max(0, from)
      const read = (items: Items<A> | "beat"): Pull.Pull<Items<A>> => {
        if (items === "beat") return pull
        position += items.length
        return Effect.succeed(items)
      }
      const pull: Pull.Pull<Items<A>> = Effect.suspend(() => this.next(position, read))
      return pull
    }))
  }

  private wake(woken: Woken): void {
    if (this.waiting.size === 0) return
    const { waiting } = this
    this.waiting = new Set()
    for (const go of waiting) go(woken)
  }
}
