/** The record of an interrupted run, in the exit of the fiber that ran it, whatever takes time to end. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Fiber, Layer, Option, Schema } from "effect"
import { Agent, RunRecord, Tool } from "@recourse/core"

/** Ends 20 ms after it was interrupted. */
const slow = Effect.onInterrupt(Effect.never, () => Effect.sleep(20))

const agentOf = (execute: () => Effect.Effect<unknown, unknown>) =>
  Agent.make("clerk", {
    tools: [Tool.make("pay", { success: Schema.String, effects: "write", execute } as never) as unknown as Tool.Any]
  } as never).pipe(
    Agent.provide(ScriptedModel.layer(ScriptedModel.steps([ScriptedModel.call("pay", {}), ScriptedModel.text("end")])))
  ) as unknown as Agent.Agent<string, string, unknown, never>

const executors: Readonly<Record<string, () => Effect.Effect<unknown, unknown>>> = {
  "an executor": () => slow,
  "a child of an executor": () => Effect.andThen(Effect.forkChild(slow), Effect.never),
  "two effects of an executor": () => Effect.all([slow, slow], { concurrency: 2 }),
  "a nested agent": () => agentOf(() => slow).run("x"),
  "a nested agent in a child": () => Effect.andThen(Effect.forkChild(agentOf(() => slow).run("x")), Effect.never)
}

type Run = Effect.Effect<string, unknown>

const programs: Readonly<Record<string, (run: Run) => Run>> = {
  "on its own": (run) => run,
  "in a program with a child": (run) => Effect.andThen(Effect.forkChild(slow), run),
  "under a layer": (run) =>
    Effect.provide(run, Layer.effectDiscard(Effect.acquireRelease(Effect.void, () => Effect.sleep(20)))),
  "within a span": (run) => Effect.withSpan(run, "request")
}

describe("the record of an interrupted run", () => {
  for (const [what, execute] of Object.entries(executors)) {
    for (const [where, program] of Object.entries(programs)) {
      it.effect(`exists although ${what} takes time to end, ${where}`, () =>
        Effect.gen(function*() {
          const exit = yield* Drive.drive(Effect.gen(function*() {
            const fiber = yield* Effect.forkDetach(program(agentOf(execute).run("go")))
            yield* Effect.sleep(20)
            yield* Fiber.interrupt(fiber)
            return yield* Fiber.await(fiber)
          }))
          assert.isTrue(Exit.hasInterrupts(exit))
          const record = Exit.isFailure(exit) ? RunRecord.fromCause(exit.cause) : Option.none()
          assert.deepStrictEqual(Option.map(record, ({ executed }) => executed[0]?.outcome), Option.some("interrupted"))
        }))
    }
  }

  it.effect("does not end a program that recovers from its own interruption", () =>
    Effect.gen(function*() {
      const agent = agentOf(() => Effect.never)
      const fiber = yield* Effect.forkChild(
        Effect.catchCause(Effect.raceFirst(agent.run("go"), Effect.interrupt), () => Effect.succeed("recovered")),
        { startImmediately: true }
      )
      assert.strictEqual(yield* Fiber.join(fiber), "recovered")
    }))
})
