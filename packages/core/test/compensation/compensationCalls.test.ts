/** The call of a compensation: arguments, key, timeout and interruption. */

import { assert, describe, it } from "@effect/vitest"
import { Drive } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Approval, IdempotencyLedger, Journal, Reconciliation, ToolInterceptor } from "@recourse/core"
import { Prompt } from "effect/ai"
import { key } from "../support/bookings.ts"
import { journalOf } from "../support/interruptedRuns.ts"
import { collect } from "../support/kit.ts"
import { agentOf, type AnyAgent, at, looks, model, reportOf, stored, tool, worldOf } from "../support/writeFates.ts"

describe("a compensation", () => {
  it.effect("gets the decoded arguments and the answer in the calling process", () =>
    Effect.gen(function*() {
      const world = worldOf()
      let decoded = 0
      const Counted = Schema.Struct({
        at: Schema.String,
        n: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => ++decoded)))
      })
      const answer = () => 1
      yield* Effect.exit(
        agentOf([
          tool(world, "book", {
            parameters: Counted,
            success: Schema.Unknown,
            execute: () => Effect.succeed(answer),
            toModelOutput: () => [Prompt.textPart({ text: "booked" })]
          })
        ])
          .run("go")
      ).pipe(Effect.provide(model(["book"], false)))
      assert.deepStrictEqual<unknown>(world.undone, [["book", { at, n: 1 }, answer]])
    }))

  it.effect("of an approved call finds out if it was done", () =>
    Effect.gen(function*() {
      const world = worldOf()
      const more = { ...looks(Effect.succeed(Reconciliation.completed({ at: new Date(7) }))), needsApproval: true }
      const agent = () => agentOf([tool(world, "book", more)])
      const { events, layer: heard } = collect()
      yield* Effect.exit(
        Effect.flatMap(agent().start("go"), (paused) =>
          paused._tag === "Paused"
            ? agent().resume(stored(paused.snapshot), paused.pending.map((call) => Approval.approve(call)))
            : assert.fail("it waits"))
      ).pipe(Effect.provide([model(["book"], false), key, heard, IdempotencyLedger.layerMemory]))
      assert.deepStrictEqual<unknown>(reportOf(events).map(({ because, outcome }) => because ?? outcome), ["undone"])
    }))

  it.effect("that was interrupted needs a person if its tool is unknown", () =>
    Effect.gen(function*() {
      const { life } = journalOf()
      const { events, layer: heard } = collect()
      const { journal } = life()
      const play = (agent: AnyAgent, journal: Journal.Journal) =>
        Effect.exit(agent.run("go", { runId: "run_1" })).pipe(
          Effect.provide([model(["book"], false), heard]),
          Effect.provideService(Journal.CurrentJournal, journal)
        )
      yield* play(agentOf([tool(worldOf(), "book")]), {
        ...journal,
        record: (kind, key, value) =>
          kind === "compensation" && key.startsWith("run_1") ? Effect.interrupt : journal.record(kind, key, value)
      })
      yield* play(agentOf([]), life().journal)
      assert.deepStrictEqual<unknown>(reportOf(events).map(({ because, outcome }) => because ?? outcome), ["timeout"])
    }))

  it.effect("gets the call under its own key, and may be intercepted", () =>
    Effect.gen(function*() {
      const world = worldOf()
      const met: Array<ToolInterceptor.Compensation> = []
      yield* Effect.exit(agentOf([tool(world, "book")]).run("go")).pipe(
        Effect.provide(model(["book"], false)),
        Effect.provideService(ToolInterceptor.CompensationInterceptor, (compensation, undo) => {
          met.push(compensation)
          return Effect.andThen(undo, undo)
        })
      )
      const params = { at: new Date(0) }
      assert.deepStrictEqual<unknown>(met, [{ tool: "book", callId: "c_book", params, result: params }])
      assert.strictEqual(world.undone.length, 2)
      for (const { arguments: args, attempt, id, idempotencyKey, level } of world.calls) {
        assert.deepStrictEqual<unknown>({ args, attempt, id, level }, {
          args: { at },
          attempt: 1,
          id: "c_book",
          level: "tool"
        })
        assert.match(idempotencyKey!, /^[0-9a-f]{64}$/)
      }
      assert.strictEqual(new Set(world.calls.map(({ idempotencyKey }) => idempotencyKey)).size, 1)
    }))

  it.effect("has the timeout of its tool or agent; the next one follows", () =>
    Effect.gen(function*() {
      for (
        const [timeout, compensation, seconds] of [
          ["4 seconds", undefined, 4],
          [undefined, "6 seconds", 6],
          ["4 seconds", "6 seconds", 4],
          [undefined, undefined, 30]
        ] as const
      ) {
        const { events, layer: heard } = collect()
        const slow = tool(worldOf(), "slow", { compensate: () => Effect.never, ...timeout && { timeout } })
        const agent = agentOf([tool(worldOf(), "book"), slow], [], {
          compensation: { ...compensation && { timeout: compensation } }
        })
        yield* Drive.drive(
          Effect.exit(agent.run("go")).pipe(Effect.provide([model(["book", "slow"], false), heard])),
          { step: "1 second" }
        )
        const [first, second] = events.filter(({ _tag }) => _tag === "ToolCompensated")
        assert.deepStrictEqual<unknown>(reportOf([first!, second!]).map(({ because, outcome }) => because ?? outcome), [
          "timeout",
          "undone"
        ])
        const died = events.findLast(({ _tag }) => _tag === "ToolCallStarted")!
        assert.strictEqual((first!.at - died.at) / 1000, seconds)
      }
    }))
})
