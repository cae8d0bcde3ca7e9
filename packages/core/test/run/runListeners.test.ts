/** Listeners of a run: awaited, contained, limited in time. */

import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Logger, References, Semaphore } from "effect"
import { Redaction } from "@recourse/core"
import { emit, Late, load, runOf } from "../support/partsOfRuns.ts"

const { audienceOf, ContainedListener, emitTo }: {
  readonly audienceOf: (
    around: object | undefined,
    context: Context.Context<never>,
    own: object | undefined,
    outOfRun: (context: Context.Context<never>) => Context.Context<never>
  ) => { readonly sinks: ReadonlyArray<object> } | undefined
  readonly ContainedListener: new(
    listener: (event: { readonly _tag: string; readonly runId: string }) => Effect.Effect<unknown, unknown>,
    timeLimit: number,
    outOfRun: (context: Context.Context<never>) => Context.Context<never>
  ) => { readonly emit: (event: object, fiber: object) => Effect.Effect<void> }
  readonly emitTo: (audience: object, event: object, fiber: object) => Effect.Effect<void>
} = await load("observe/listeners.ts")

const { AgentEvent } = await import("@recourse/core")

describe("listeners of a run", () => {
  const Mark = Context.Reference<string>("test/Mark", { defaultValue: () => "none" })

  const event = (n = 0) => ({ _tag: `Event${n}`, runId: "r" })

  const told = (context: Context.Context<never> = Context.empty()) => ({ context })

  const same = (context: Context.Context<never>) => context

  it.live("hear each event in its own context", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const sink = new ContainedListener(
        ({ _tag }) => Effect.map(Mark, (mark) => heard.push(`${_tag} ${mark}`)),
        1_000,
        same
      )
      const [a, b] = ["a", "b"].map((mark) => told(Context.make(Mark, mark) as never))
      for (const [n, fiber] of [a, a, b, a].entries()) yield* sink.emit(event(n), fiber!)
      assert.deepStrictEqual(heard, ["Event0 a", "Event1 a", "Event2 b", "Event3 a"])
    }))

  it.live("are awaited, also by calls that wait after they end", () =>
    Effect.gen(function*() {
      const gate = Semaphore.makeUnsafe(0)
      let done = 0
      const slow = () => new ContainedListener(() => Effect.map(gate.take(1), () => void done++), 10_000, same)
      const late = slow().emit(event(), told())
      const both = emitTo({ sinks: [slow(), slow()] }, event(), told())
      const waiting = yield* Effect.forkChild(both)
      yield* Effect.sleep(1)
      assert.isUndefined(waiting.pollUnsafe())
      yield* gate.release(2)
      yield* Effect.sleep(1)
      assert.deepStrictEqual([done, waiting.pollUnsafe()], [2, undefined])
      yield* gate.release(1)
      yield* Fiber.join(waiting)
      yield* late
      assert.strictEqual(done, 3)
    }).pipe(Effect.timeout(2_000)))

  it.live("that are late are interrupted, logged once, and block no run", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ fiber, message }) => {
        logged.push([message, fiber.getRef(References.CurrentLogAnnotations)])
      })
      const context = Context.make(Logger.CurrentLoggers, new Set([logger])) as never as Context.Context<never>
      let interrupted = 0
      const sink = new ContainedListener(
        () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++)),
        5,
        same
      )
      const [first, second] = [sink.emit(event(1), told(context)), sink.emit(event(2), told(context))]
      yield* Effect.sleep(20)
      // No call waited by then.
      yield* Effect.andThen(first, second)
      assert.strictEqual(sink.emit(event(3), told(context)), Effect.void)
      assert.deepStrictEqual([interrupted, logged], [1, [[
        ["A listener did not answer within its time limit: it receives no more events of this run"],
        { event: "Event1", trace_id: "r" }
      ]]])
    }).pipe(Effect.timeout(2_000)))

  it.live("that fail are named in the log once, redacted", () =>
    Effect.gen(function*() {
      const logged: Array<object> = []
      const logger = Logger.make(({ fiber }) => {
        logged.push(fiber.getRef(References.CurrentLogAnnotations))
      })
      const context = Context.make(Logger.CurrentLoggers, new Set([logger])).pipe(
        Context.add(Redaction.Redaction, { text: () => "redacted" } as never)
      ) as never as Context.Context<never>
      const sink = new ContainedListener(() => Effect.fail(new Late()), 1_000, same)
      for (const n of [1, 2]) yield* sink.emit(event(n), told(context))
      assert.deepStrictEqual(logged, [{ event: "Event1", trace_id: "r", error: "Late", cause: "redacted" }])
    }))

  it.live("leave no timer behind that holds the process", () =>
    Effect.gen(function*() {
      let sleeping = 0
      const clock = yield* Clock.Clock
      const counted = Object.assign(Object.create(clock) as Clock.Clock, {
        sleep: () =>
          Effect.suspend(() => (sleeping++, Effect.onInterrupt(Effect.never, () => Effect.sync(() => void sleeping--))))
      })
      const sink = new ContainedListener(() => Effect.yieldNow, 1_000, same)
      yield* sink.emit(event(), told(Context.make(Clock.Clock, counted) as never))
      yield* Effect.sleep(1)
      assert.strictEqual(sleeping, 0)
    }))

  it.effect("are one receiver each, however often registered; none is empty", () =>
    Effect.gen(function*() {
      const listener = () => Effect.void
      const layer = AgentEvent.listen(listener)
      const contextOf = Effect.contextWith((context: Context.Context<never>) => Effect.succeed(context))
      const twice = yield* contextOf.pipe(Effect.provide(layer), Effect.provide(AgentEvent.listen(listener)))
      assert.isUndefined(audienceOf(undefined, Context.empty(), undefined, same))
      const around = audienceOf(undefined, twice, undefined, same)!
      assert.strictEqual(around.sinks.length, 1)
      assert.strictEqual(audienceOf(around, twice, undefined, same), around)
      assert.strictEqual(audienceOf(around, Context.empty(), undefined, same), around)
    }))

  it.effect("receive no event behind the end of a run", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const sinks = [{ emit: ({ _tag }: { readonly _tag: string }) => (heard.push(_tag), Effect.void) }]
      const run = runOf(undefined, {
        id: "r",
        clock: yield* Clock.Clock,
        audience: { sinks, emitted: { events: 0, isOver: false } }
      })
      for (const _tag of ["RunStarted", "RunFinished", "TextDelta"]) yield* emit(run, () => ({ _tag }))
      yield* emit(undefined, () => ({ _tag: "RunStarted" }))
      assert.deepStrictEqual(heard, ["RunStarted", "RunFinished"])
    }))
})
