/** Runs that recover: writes, waits and answers of the executions before. */

import { assert, describe, it } from "@effect/vitest"
import { Drive } from "@recourse/testing"
import { Effect, Exit, Schedule, Schema } from "effect"
import { Agent, Journal, Recovery, ToolCall } from "@recourse/core"
import { type CutAt, cuts } from "../support/interruptedRuns.ts"
import { Down } from "../support/kit.ts"
import {
  answerOf,
  Busy,
  busy,
  byCall,
  type Execute,
  failing,
  type Inner,
  recovered,
  retried,
  timesOf,
  tool,
  within,
  worldOf
} from "../support/interruptedExecutions.ts"

describe("a recovered run", () => {
  /**
   * A first execution that is interrupted behind the first wait, and a second one with another tool, or another agent.
   */
  const changed = (first: Execute, second: { readonly tool: object; readonly options?: object }) =>
    Effect.gen(function*() {
      const lives = worldOf()
      const { world } = lives
      const life = (more: object, options: object | undefined, cut?: CutAt) =>
        within(
          (world) => retried(world, tool(world, "look", first, { failure: Busy, ...more })),
          ({ live }) => live(cut),
          { lives, ...(options === undefined ? undefined : { options }) }
        )
      yield* life({ trust: "untrusted" }, undefined, { at: 2, behind: true })
      assert.deepStrictEqual([...world.kept.keys()].map((key) => key.split(" ")[0]), ["model", "wait"])
      return { world, report: yield* life(second.tool, second.options) }
    })

  it.effect("makes an attempt again whose failure the tool of today cannot read", () =>
    Effect.gen(function*() {
      class Busy extends Schema.TaggedError<Busy>()("Busy", { since: Schema.Boolean }) {}
      const { report, world } = yield* changed(failing(1, busy), { tool: { failure: Busy, trust: "untrusted" } })
      assert.deepStrictEqual([report.exit, answerOf(world)], [Exit.succeed("done"), "done"])
      assert.deepStrictEqual(timesOf(world), { look: 3 })
    }))

  it.effect("repeats attempts if it cannot decode the wait behind them", () =>
    Effect.gen(function*() {
      const damages: ReadonlyArray<(wait: { readonly failed: ReadonlyArray<object> }) => object> = [
        (wait) => wait,
        (wait) => ({ ...wait, until: "later" }),
        (wait) => ({ ...wait, failed: wait.failed.map((failed) => ({ ...failed, error: "Another" })) }),
        (wait) => ({ ...wait, failed: [{}] })
      ]
      for (const [at, damage] of damages.entries()) {
        const lives = worldOf()
        const live = (cut?: CutAt) =>
          within(
            (world) => retried(world, tool(world, "look", failing(1, busy), { failure: Busy })),
            ({ live }) => live(cut),
            { lives }
          )
        yield* live({ at: 2, behind: true })
        const [place, wait] = [...lives.kept].find(([key]) => key.startsWith("wait"))!
        lives.kept.set(place, damage(wait as never) as never)
        const { exit } = yield* live()
        assert.deepStrictEqual([exit, answerOf(lives.world)], [Exit.succeed("done"), "done"])
        assert.deepStrictEqual(timesOf(lives.world), { look: at === 0 ? 2 : 3 })
      }
    }))

  it.effect("replays earlier reads, also without time for another attempt", () =>
    Effect.gen(function*() {
      const { report, world } = yield* changed(failing(1, busy), {
        tool: { trust: "untrusted" },
        options: { budget: { duration: "2 seconds" } }
      })
      assert.deepStrictEqual([answerOf(world), report.taintedBy], ["rate_limited", ["look"]])
      assert.deepStrictEqual(timesOf(world), { look: 1 })
    }))

  it.effect("counts its program's calls over all executions", () =>
    Effect.gen(function*() {
      const made = () => {
        const { life, world } = worldOf()
        const look = retried(world, tool(world, "look", failing(1, busy), { failure: Busy }))
        const early = recovered(tool(world, "early", failing(1, busy), { failure: Busy }), (call) =>
          Effect.suspend((): Inner =>
            world.met.push("early") % 2 === 1 ? Effect.fail(new Down()) as never : call
          ).pipe(
            Recovery.retry({ times: 3, schedule: Schedule.spaced("2 seconds"), while: () => true } as never)
          ))
        const call = (id: string) =>
          Effect.provideService(
            ((id === "c" ? early : look) as never as { readonly recovered: Inner }).recovered,
            ToolCall.ToolCall,
            ToolCall.make({ id, arguments: {} })
          )
        const agent = Agent.fromFunction(
          "program",
          (_: string) => Effect.forEach(["a", "b", "c"], call)
        ) as never as Agent.Agent<string, ReadonlyArray<string>, unknown, never>
        const live = (cut?: CutAt) =>
          Drive.drive(
            agent.report("go", { runId: "run_1" }).pipe(Effect.provideService(Journal.CurrentJournal, life(cut))),
            { step: "1 second" }
          )
        return { live, world }
      }
      const whole = made()
      const report = yield* whole.live()
      assert.deepStrictEqual([report.usage.toolCalls, report.usage.retries], [6, 3])
      for (const { about, ...cut } of cuts(whole.world.kept.size)) {
        const { live } = made()
        yield* live(cut)
        const last = yield* live()
        assert.deepStrictEqual(
          [last.exit, last.usage, byCall(last)],
          [report.exit, report.usage, byCall(report)],
          about
        )
      }
    }))
})
