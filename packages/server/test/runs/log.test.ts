/** A log shows each item once and in order to all of its readers, whatever they and the writer do in which order. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Stream } from "effect"

/** Tested part of the log. */
interface TestedLog {
  readonly items: ReadonlyArray<number>
  readonly append: (item: number) => void
  readonly close: () => void
  readonly beat: () => void
  readonly until: (from: number, stops: (item: number) => boolean) => Effect.Effect<number | undefined>
  readonly follow: (from: number) => Stream.Stream<number>
}

const { Log } = await import(new URL("../../src/internal/runs/log.ts", import.meta.url).href) as {
  readonly Log: new() => TestedLog
}

/** Appends, readers that come and go, beats; then the end. */
const Step = Schema.Union([
  Schema.Struct({
    _tag: Schema.Literal("append"),
    count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300 }))
  }),
  Schema.Struct({
    _tag: Schema.Literal("follow"),
    from: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  }),
  Schema.Struct({
    _tag: Schema.Literal("until"),
    from: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  }),
  Schema.Struct({ _tag: Schema.Literal("leave") }),
  Schema.Struct({ _tag: Schema.Literal("beat") }),
  Schema.Struct({ _tag: Schema.Literal("yield") })
])

const range = (from: number, to: number) => Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n)

describe("log", () => {
  it.effect.prop(
    "each reader has each item once and in order",
    [Schema.Array(Step)],
    ([steps]) =>
      Effect.gen(function*() {
        const log = new Log()
        const readers: Array<
          { readonly from: number; readonly seen: Array<number>; readonly fiber: Fiber.Fiber<unknown> }
        > = []
        const left: typeof readers = []
        for (const step of steps) {
          switch (step._tag) {
            case "append":
              for (let n = 0; n < step.count; n++) log.append(log.items.length)
              break
            case "follow": {
              const seen: Array<number> = []
              const all = Stream.runForEach(log.follow(step.from), (item) => Effect.sync(() => seen.push(item)))
              readers.push({ from: step.from, seen, fiber: yield* Effect.forkChild(all, { startImmediately: true }) })
              break
            }
            case "until": {
              const seen: Array<number> = []
              // Stops at each tenth item, and continues behind it.
              const on = (from: number): Effect.Effect<void> =>
                Effect.flatMap(
                  log.until(from, (item) => {
                    if (item % 10 === 9) return true
                    seen.push(item)
                    return false
                  }),
                  (position) => {
                    if (position === undefined) return Effect.void
                    seen.push(log.items[position]!)
                    return on(position + 1)
                  }
                )
              readers.push({
                from: step.from,
                seen,
                fiber: yield* Effect.forkChild(on(step.from), { startImmediately: true })
              })
              break
            }
            case "leave": {
              const one = readers.shift()
              if (one === undefined) break
              yield* Fiber.interrupt(one.fiber)
              left.push({ ...one, seen: [...one.seen] })
              log.append(log.items.length)
              assert.deepStrictEqual(one.seen, left.at(-1)!.seen)
              break
            }
            case "beat":
              log.beat()
              break
            case "yield":
              yield* Effect.yieldNow
          }
        }
        log.close()
        for (const { fiber } of readers) yield* Fiber.join(fiber)
        for (const { from, seen } of readers) assert.deepStrictEqual(seen, range(from, log.items.length))
        for (const { from, seen } of left) assert.deepStrictEqual(seen, range(from, from + seen.length))
      })
  )

  it.effect("a reader's exception ends that reader, and not the writer", () =>
    Effect.gen(function*() {
      const log = new Log()
      const reader = yield* Effect.forkChild(
        log.until(0, () => {
          throw new Error("bug")
        }),
        { startImmediately: true }
      )
      log.append(1)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(reader)))
      log.append(2)
      assert.deepStrictEqual(log.items, [1, 2])
    }))
})
