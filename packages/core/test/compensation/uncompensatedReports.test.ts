/** Reports of uncompensated writes. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Logger, References } from "effect"
import { Agent, Approval, Audit, Tool, ToolError } from "@recourse/core"
import { key } from "../support/bookings.ts"
import { collectLogs, Down } from "../support/kit.ts"
import { agentOf, type AnyAgent, at, lost, model, tool, worldOf } from "../support/writeFates.ts"

const reasonOf = (defect: unknown) => defect instanceof ToolError.ExecutorDefect && defect.reason

describe("the report of uncompensated writes", () => {
  const left = ["lost"] as const
  const reporting: Readonly<
    Record<string, readonly [(() => Effect.Effect<unknown>) | undefined, ReadonlyArray<string>]>
  > = {
    "that fails is logged": [() => Effect.die("no mail"), ["compensation.report failed"]],
    "that throws is logged": [
      () => {
        throw new Error("no mail")
      },
      ["compensation.report failed"]
    ],
    "that hangs is logged, and ends": [() => Effect.never, ["compensation.report gave no answer"]],
    "that goes well is told of nobody": [() => Effect.void, []],
    "that is not wanted is told of nobody": [undefined, []]
  }
  for (const [name, [report, expected]] of Object.entries(reporting)) {
    it.effect(`${name}; the run ends with its own error`, () =>
      Effect.gen(function*() {
        const { layer, messages } = collectLogs()
        const agent = agentOf([tool(worldOf(), "lost", lost)], [], { compensation: { report } })
        const exit = yield* Drive.drive(
          Effect.exit(agent.run("go")).pipe(Effect.provide([model(left, false), layer])),
          { step: "10 seconds" }
        )
        assert.strictEqual(Exit.isFailure(exit) && reasonOf(Cause.squash(exit.cause)), "no")
        assert.deepStrictEqual<unknown>(
          messages.filter((message) => message.includes("compensation")).map((m) => m.split(",")[0]),
          expected
        )
      }))
  }

  it.effect("is not made if all writes are compensated", () =>
    Effect.gen(function*() {
      const reports: Array<ReadonlyArray<ToolError.NotCompensated>> = []
      yield* Effect.exit(agentOf([tool(worldOf(), "book")], reports).run("go")).pipe(
        Effect.provide(model(["book"], false))
      )
      assert.deepStrictEqual<unknown>(reports, [])
    }))
})

describe("an audit that cannot be written", () => {
  const logged = () => {
    const lines: Array<readonly [message: string, annotations: unknown]> = []
    const layer = Logger.layer([
      Logger.make(({ fiber, message }) => lines.push([String(message), fiber.getRef(References.CurrentLogAnnotations)]))
    ])
    return { layer, lines }
  }
  const play = (turns: ReadonlyArray<ScriptedModel.Turn>, refused: boolean) =>
    Effect.gen(function*() {
      const world = worldOf()
      const tried: Array<string> = []
      const { layer, lines } = logged()
      const agent = agentOf([tool(world, "book"), tool(world, "hotel"), tool(world, "car")])
      const steps = ScriptedModel.layer(ScriptedModel.steps(turns as never))
      const exit = yield* Effect.exit(
        Effect.flatMap(agent.start("go"), (ended) =>
          ended._tag === "Paused" && refused
            ? agent.resume(ended.snapshot, ended.pending.map((call) => Approval.reject(call, "no")))
            : Effect.succeed(ended))
      ).pipe(
        Effect.provide([steps, layer, key]),
        Effect.provide(Audit.layer(({ callId, decision }) =>
          decision.endsWith("compensated")
            ? Effect.andThen(Effect.sync(() => tried.push(callId)), Effect.die("full"))
            : Effect.void
        ))
      )
      return { exit, lines: lines.filter(([message]) => message.includes("no audit record")), tried, world }
    })
  const books = ["book", "hotel", "car"].map((name) => ScriptedModel.call(name, { at }, { id: `c_${name}` }))
  const without = (...tools: ReadonlyArray<string>) =>
    tools.map((tool) => ["A compensation has no audit record", { call_id: `c_${tool}`, tool }])

  it.effect("is tried once; other writes are compensated and logged; the error stays", () =>
    Effect.gen(function*() {
      const { exit, lines, tried, world } = yield* play([...books, ScriptedModel.call("die", {})], false)
      assert.deepStrictEqual<unknown>(tried, ["c_car"])
      assert.deepStrictEqual<unknown>(world.undone.map(([name]) => name), ["car", "hotel", "book"])
      assert.deepStrictEqual<unknown>(lines, without("hotel", "book"))
      assert.strictEqual(Exit.isFailure(exit) && reasonOf(Cause.squash(exit.cause)), "no")
    }))

  it.effect("ends a run that ended well", () =>
    Effect.gen(function*() {
      const { exit, lines, tried, world } = yield* play(
        [...books, ScriptedModel.call("pay", {}), ScriptedModel.text("Not paid.")],
        true
      )
      assert.deepStrictEqual<unknown>(tried, ["c_car"])
      assert.deepStrictEqual<unknown>(world.undone.map(([name]) => name), ["car", "hotel", "book"])
      assert.deepStrictEqual<unknown>(lines, without("hotel", "book"))
      assert.strictEqual(Exit.isFailure(exit) && Cause.squash(exit.cause), "full")
    }))
})

describe("a run that ends badly", () => {
  it.effect("can be resumed only if no write of it was compensated", () =>
    Effect.gen(function*() {
      const Fail = Tool.make("die", { effects: "read", execute: () => Effect.fail(new Down()) })
      const resumable = (after: ReadonlyArray<string>) =>
        Effect.map(
          (Agent.make(
            "clerk",
            { tools: [tool(worldOf(), "book"), Fail], compensation: { after } } as never
          ) as never as AnyAgent)
            .report("go").pipe(Effect.provide(model(["book"], false))),
          (record) => record.resumable !== undefined
        )
      assert.deepStrictEqual<unknown>(
        [yield* resumable([]), yield* resumable(["rejection"]), yield* resumable(["failure"])],
        [true, true, false]
      )
    }))
})
