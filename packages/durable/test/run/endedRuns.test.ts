/** Compensation of an ended run whose process is killed: at each operation, the write is compensated once, or reported. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { Agent, Compensation, type Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"

const office = (effects: "idempotent" | "write") => {
  const cancelled: Array<string> = []
  const Book = Tool.make("book", {
    success: Schema.String,
    effects,
    execute: () => Effect.succeed("b-7"),
    compensate: (_, code) =>
      Effect.andThen(
        Effect.sync(() => void cancelled.push(code)),
        Effect.sleep("1 second")
      )
  })
  const agent = Durable.make(Agent.make("office", { tools: [Book] }))
  const model = ScriptedModel.layer(({ prompt }) =>
    prompt.content.some(({ role }) => role === "tool") ? ScriptedModel.text("done") : ScriptedModel.call("book", {})
  )
  const store = Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))
  const around = Durable.layer([agent]).pipe(Layer.provide(Layer.mergeAll(store, model)))
  const life = <A, E>(effect: Effect.Effect<A, E, Runs.Runs>, options: VirtualTime.Options) =>
    VirtualTime.run(Effect.provide(effect, around), { ...options, steps: 1_000_000 })
  const ended = life(agent.run("r1", "go"), {})
  const compensating = (options: VirtualTime.Options) =>
    life(Compensation.compensate({ runId: "r1", by: "ada" }), options)
  return { ended, compensating, cancelled }
}

for (const effects of ["idempotent", "write"] as const) {
  describe(`a process that is killed while it compensates an ended run of a tool that is ${effects}`, () => {
    it.live("is followed by one that ends the compensation, and repeats it only under a key", () =>
      Effect.gen(function*() {
        const one = office(effects)
        yield* one.ended
        const whole = yield* one.compensating({ startAt: 60_000, identity: 1 })
        const states = new Set<string>()
        for (let at = 1; at <= 24; at++) {
          const world = office(effects)
          yield* world.ended
          const killAt = Math.ceil((whole.operations * at) / 25)
          const first = yield* world.compensating({ startAt: 60_000, identity: 1, killAt })
          assert.strictEqual(first.stopped, "killed")
          const before = world.cancelled.length
          const { exit } = yield* world.compensating({ startAt: 180_000, identity: 2 })
          const about = `killed at ${killAt} of ${whole.operations}`
          if (!Exit.isSuccess(exit)) return assert.fail(about)
          const [write] = exit.value
          states.add(`${write!.state} ${before} ${world.cancelled.length}`)
          assert.strictEqual(write!.by, "ada", about)
          if (effects === "write") assert.isAtMost(world.cancelled.length, 1, about)
          if (write!.state === "compensated") assert.isAtLeast(world.cancelled.length, 1, about)
          else assert.strictEqual(write!.because, "timeout", about)
        }
        assert.includeMembers([...states], [
          "compensated 0 1",
          "compensated 1 1",
          effects === "write" ? "not_compensated 1 1" : "compensated 1 2"
        ])
      }))
  })
}
