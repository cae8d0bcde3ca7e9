import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, VirtualTime } from "@recourse/testing"
import { Arbitrary, Clock, type Duration, Effect, Exit, Fiber, Schedule } from "effect"

describe("virtual time", () => {
  it.effect("loses no interruption of an unstarted fiber, in any order", () =>
    Effect.gen(function*() {
      const interrupted = Effect.flatMap(Effect.forkChild(Effect.never), Fiber.interrupt)
      for (let order = 1; order <= 100; order++) {
        const ended = yield* VirtualTime.run(Effect.replicateEffect(interrupted, 5), { order })
        assert.strictEqual(ended.stopped, undefined, `order ${order}`)
      }
    }))

  it.effect("wakes sleepers in order, simultaneous ones by their start", () =>
    Effect.gen(function*() {
      const woken: Array<string> = []
      const sleeper = (name: string, millis: number) =>
        Effect.andThen(
          Effect.sleep(millis),
          Effect.map(Clock.currentTimeMillis, (now) => void woken.push(`${name} ${now}`))
        )
      const { elapsed } = yield* VirtualTime.run(
        Effect.all([sleeper("late", 3000), sleeper("a", 1000), sleeper("b", 1000), sleeper("soon", 1)], {
          concurrency: "unbounded"
        })
      )
      assert.deepStrictEqual(woken, ["soon 1", "a 1000", "b 1000", "late 3000"])
      assert.strictEqual(elapsed, 3000)
    }))

  it.effect("takes no time", () =>
    Effect.gen(function*() {
      const start = performance.now()
      const ended = yield* VirtualTime.run(
        Effect.repeat(Effect.void, Schedule.spaced("1 minute").pipe(Schedule.upTo({ times: 500 })))
      )
      assert.strictEqual(ended.elapsed, 500 * 60_000)
      assert.isBelow(performance.now() - start, 2000)
    }))

  it.effect("waits for promises, and keeps the services of its surroundings", () =>
    Effect.gen(function*() {
      const { exit } = yield* VirtualTime.run(
        Effect.andThen(
          Effect.promise(async () => {
            for (let i = 0; i < 20; i++) await Promise.resolve()
          }),
          Effect.as(Effect.sleep("1 second"), "done")
        )
      )
      assert.deepStrictEqual(exit, Exit.succeed("done"))
    }))

  it.effect("stops hanging, late and endless effects, and runs finalizers", () =>
    Effect.gen(function*() {
      let finalized = 0
      const stopped = (effect: Effect.Effect<unknown>, options?: VirtualTime.Options) =>
        Effect.map(
          VirtualTime.run(
            Effect.onInterrupt(effect, () =>
              Effect.andThen(
                Effect.sleep("5 seconds"),
                Effect.sync(() => void finalized++)
              )),
            options
          ),
          ({ elapsed, exit, fibers, stopped }) => [stopped, elapsed, fibers, Exit.hasInterrupts(exit)]
        )
      assert.deepStrictEqual(yield* stopped(Effect.never), ["stalled", 5000, 0, true])
      assert.deepStrictEqual(
        yield* stopped(Effect.sleep("3 hours"), { limit: "1 hour" }),
        ["late", 5000, 0, true]
      )
      assert.deepStrictEqual(
        yield* stopped(Effect.forever(Effect.yieldNow), { steps: 100 }),
        ["endless", 5000, 0, true]
      )
      assert.strictEqual(finalized, 3)
    }))

  it.effect("gives fibers in the background the time to settle", () =>
    Effect.gen(function*() {
      const background = (time: Duration.Input) => Effect.as(Effect.forkDetach(Effect.sleep(time)), "done")
      const settle = "10 seconds"
      const ended = yield* VirtualTime.run(background(settle), { settle })
      assert.deepInclude(ended, { exit: Exit.succeed("done"), fibers: 0, elapsed: 0, stopped: undefined })
      const late = yield* VirtualTime.run(background("11 seconds"), { settle })
      assert.deepInclude(late, { exit: Exit.succeed("done"), fibers: 1, elapsed: 0, stopped: undefined })
      const endless = yield* VirtualTime.run(background(Infinity), { settle })
      assert.deepInclude(endless, { exit: Exit.succeed("done"), fibers: 1, stopped: undefined })
    }))

  it.effect("counts the fibers that are left", () =>
    Effect.gen(function*() {
      const left = yield* VirtualTime.run(
        Effect.andThen(Effect.forkDetach(Effect.never), Effect.forkDetach(Effect.sleep("1 hour")))
      )
      assert.strictEqual(left.fibers, 2)
      const none = yield* VirtualTime.run(Effect.flatMap(Effect.forkDetach(Effect.sleep("1 hour")), Fiber.interrupt))
      assert.strictEqual(none.fibers, 0)
    }))

  it.effect("is interrupted with the waiting fiber", () =>
    Effect.gen(function*() {
      let interrupted = false
      const fiber = yield* Effect.forkChild(
        VirtualTime.run(
          Effect.onInterrupt(
            Effect.forever(Effect.yieldNow),
            () => Effect.sync(() => void (interrupted = true))
          ),
          { steps: Infinity }
        ),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.isTrue(interrupted)
    }))
})

describe("a plan", () => {
  it.effect.prop("is the same after it was stored", [FaultPlan.FaultPlan], ([plan]) =>
    Effect.gen(function*() {
      // As text: JSON has no -0.
      const json = FaultPlan.stringify(plan)
      assert.strictEqual(FaultPlan.stringify(yield* FaultPlan.parse(json)), json)
      assert.strictEqual(FaultPlan.print(plan).split("\n").length, plan.injections.length + 1)
    }))

  it.effect("is refused with unknown faults and numbers that make no sense", () =>
    Effect.gen(function*() {
      const injections = [
        "{\"tool\":\"x\",\"fault\":{\"type\":\"earthquake\"}}",
        "{\"fault\":{\"type\":\"timeout\"}}",
        "{\"tool\":\"x\",\"fault\":{\"type\":\"timeout\"},\"times\":0}",
        "{\"tool\":\"x\",\"fault\":{\"type\":\"delay\",\"millis\":-1}}",
        "{\"tool\":\"x\",\"fault\":{\"type\":\"failure\",\"error\":{}}}",
        "{\"fault\":{\"type\":\"model_error\",\"reason\":\"Bored\"}}",
        "{\"fault\":{\"type\":\"rate_limit\"},\"probability\":2}"
      ]
      for (const injection of injections) {
        const error = yield* Effect.flip(FaultPlan.parse(`{"seed":1,"injections":[${injection}]}`))
        assert.strictEqual(error._tag, "SchemaError")
      }
      const short = yield* FaultPlan.parse(
        "{\"seed\":1,\"injections\":[{\"tool\":\"x\",\"fault\":{\"type\":\"hang\"}}]}"
      )
      assert.deepStrictEqual(short, FaultPlan.make([FaultPlan.onTool("x", { type: "hang" })]))
      assert.isTrue(Arbitrary.isArbitrary(Arbitrary.schema(FaultPlan.FaultPlan)))
    }))
})
