/**
 * Executions of a run: one interrupted at any entry of its journal recovers as if it had not been, after any failures,
 * waits, starts and commits.
 */

import { assert, describe, it } from "@effect/vitest"
import { Data, Duration, Effect, Exit, Schedule, Schema } from "effect"
import type { Tool } from "@recourse/core"
import { Recovery, ToolCall, ToolError } from "@recourse/core"
import { cuts } from "../support/interruptedRuns.ts"
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
  type World
} from "../support/interruptedExecutions.ts"

class Odd extends Data.TaggedError("Odd")<{ readonly at: Date }> {}

/** Calls a tool, and fails behind it in the first attempt. */
const notYet = (inner: Tool.Any): Execute => () =>
  Effect.flatMap(
    ToolCall.ToolCall,
    ({ attempt }) =>
      Effect.andThen(inner.call as never as Inner, (answer) =>
        attempt === 1 ? Effect.fail("not yet") : Effect.succeed(answer))
  )

const again = (call: Inner) =>
  call.pipe(Recovery.retry({ times: 4, schedule: Schedule.spaced("2 seconds"), while: () => true } as never))

/** Ways in which a call fails and is retried: the number of its tools' executions, and the outcome of the call. */
const ways: Readonly<
  Record<
    string,
    readonly [
      tools: (world: World) => Tool.Any,
      ran: Readonly<Record<string, number>>,
      answer: string,
      more?: {
        /** Number of parallel calls of the model. */
        readonly calls?: number
        /** The agent's own level around the tool's. */
        readonly around?: (call: Inner) => unknown
        /** A component outside of the run's journal knows of it: a missing entry does not undo it. */
        readonly isSeen?: true
      }
    ]
  >
> = {
  "an error with a schema": [
    (world) => retried(world, tool(world, "look", failing(2, busy), { failure: Busy })),
    { look: 3 },
    "done"
  ],
  "an error that is JSON": [
    (world) => retried(world, tool(world, "look", failing(2, () => Effect.fail({ code: 7, more: [1, null] })))),
    { look: 3 },
    "done"
  ],
  "an error that is no JSON, so that its attempt is made again": [
    (world) => retried(world, tool(world, "look", failing(1, () => Effect.fail(new Odd({ at: new Date(7) }))))),
    { look: 2 },
    "done"
  ],
  "no error at all": [
    (world) => retried(world, tool(world, "look", failing(1, () => Effect.fail(undefined)))),
    { look: 2 },
    "done"
  ],
  "no answer in time": [
    (world) => retried(world, tool(world, "look", failing(1, () => Effect.never), { timeout: "1 second" })),
    { look: 2 },
    "done"
  ],
  "an error from outside": [
    (world) => retried(world, tool(world, "look", failing(2, () => Effect.fail("down")), { trust: "untrusted" })),
    { look: 3 },
    "done"
  ],
  "a write with a key that gives no answer in time": [
    (world) =>
      retried(
        world,
        tool(world, "pay", failing(1, () => Effect.never), { effects: "write", idempotency: true, timeout: "1 second" })
      ),
    { pay: 2 },
    "done"
  ],
  "a write with a key of its arguments, and an error": [
    (world) =>
      retried(
        world,
        tool(world, "pay", failing(2, () => Effect.fail("down")), {
          effects: "write",
          idempotency: { key: () => "order-1" }
        })
      ),
    { pay: 3 },
    "done"
  ],
  "a call that a tool makes": [
    (world) => {
      const inner = retried(world, tool(world, "inner", failing(2, () => Effect.fail({ code: 8 }))))
      return retried(world, tool(world, "outer", () => inner.call as never))
    },
    { outer: 1, inner: 3 },
    "done"
  ],
  "a call that a tool makes in each of its attempts": [
    (world) => {
      const inner = retried(world, tool(world, "inner", failing(1, () => Effect.fail({ code: 8 }))))
      return retried(
        world,
        tool(
          world,
          "outer",
          notYet(inner)
        )
      )
    },
    { outer: 2, inner: 4 },
    "done"
  ],
  "an outcome that the executor says to be unknown, under a key": [
    (world) =>
      retried(
        world,
        tool(
          world,
          "pay",
          failing(1, () =>
            Effect.fail(
              new ToolError.OutcomeUnknown({
                tool: "bank",
                callId: "b",
                attempt: 1,
                causes: [],
                after: Duration.millis(5)
              })
            )),
          { effects: "write", idempotency: true, failure: ToolError.OutcomeUnknown }
        )
      ),
    { pay: 2 },
    "done"
  ],
  "calls of one answer, each with its own failures": [
    (world) => retried(world, tool(world, "look", failing(2, busy), { failure: Busy })),
    { look: 9 },
    "done",
    { calls: 3 }
  ],
  "arguments that do not fit, which no journal has": [
    (world) =>
      retried(world, tool(world, "look", () => Effect.succeed("?"), { parameters: Schema.Struct({ n: Schema.Int }) })),
    {},
    "missing_required_field"
  ],
  "a failure before the first attempt, of which no journal knows": [
    (world) => {
      const failed: Array<string> = []
      return retried(
        world,
        recovered(
          tool(world, "look", failing(2, busy), { failure: Busy }),
          (call) =>
            Effect.flatMap(call as Effect.Effect<string, unknown>, Effect.succeed).pipe((call) =>
              Effect.suspend((): Effect.Effect<string, unknown> =>
                world.met.length === 0 && failed.push("once") > 0 ? Effect.fail(new Down()) : call
              )
            )
        )
      )
    },
    { look: 3 },
    "done"
  ],
  "a wait that is too short for the journal, on a schedule that ends with the time": [
    (world) =>
      retried(
        world,
        tool(world, "look", failing(99, () => Effect.fail({ code: 8 }))),
        4,
        Schedule.exponential("400 millis", 4).pipe(Schedule.upTo({ duration: "1500 millis" }))
      ),
    { look: 3 },
    "execution_error"
  ],
  "a circuit that is open when the next life begins": [
    (world) =>
      retried(
        world,
        recovered(tool(world, "look", failing(2, () => Effect.fail({ code: 8 }))), (call) =>
          call.pipe(
            Recovery.circuitBreaker({ isFailure: () => true } as never) as never
          ))
      ),
    { look: 3 },
    "done",
    { isSeen: true }
  ],
  "a write that a tool makes in an attempt that fails": [
    (world) => {
      const inner = tool(world, "inner", () => Effect.succeed("written"), { effects: "write", idempotency: true })
      return retried(
        world,
        tool(
          world,
          "outer",
          notYet(inner),
          { effects: "idempotent" }
        )
      )
    },
    { outer: 2, inner: 1 },
    "written"
  ],
  "a failure that is tried again in vain, which no level around tries again": [
    (world) => retried(world, tool(world, "look", failing(99, busy), { failure: Busy }), 2),
    { look: 3 },
    "rate_limited",
    { around: again }
  ],
  "failures that take turns, which no level around tries again": [
    (world) =>
      retried(
        world,
        tool(world, "look", () =>
          Effect.flatMap(ToolCall.ToolCall, ({ attempt }) =>
            Effect.fail({ _tag: attempt % 2 === 1 ? "A" : "B" }))),
        2
      ),
    { look: 3 },
    "execution_error",
    { around: again }
  ],
  "a failure within that is tried again in vain, which no call around tries again": [
    (world) => {
      const inner = retried(world, tool(world, "inner", failing(99, busy), { failure: Busy }), 2)
      return retried(world, tool(world, "outer", () => inner.call as never))
    },
    { outer: 1, inner: 3 },
    "execution_error"
  ],
  "all attempts that the budget pays for": [
    (world) => retried(world, tool(world, "look", failing(99, () => Effect.fail("down"))), 9),
    { look: 4 },
    "execution_error"
  ]
}

describe("a run interrupted at any entry recovers as if it was not", () => {
  for (const [way, [make, ran, answer, more = {}]] of Object.entries(ways)) {
    it.effect(`behind ${way}`, () =>
      Effect.gen(function*() {
        const whole = yield* within(
          make,
          ({ live, world }) => Effect.map(live(), (report) => ({ report, world })),
          more
        )
        assert.deepStrictEqual(whole.report.exit, Exit.succeed("done"))
        assert.deepStrictEqual(timesOf(whole.world), ran)
        assert.strictEqual(answerOf(whole.world), answer)
        const waits = [...whole.world.kept.keys()].filter((key) => key.startsWith("wait")).length
        assert.isAbove(waits, 0)
        for (const { about, ...cut } of cuts(whole.world.kept.size)) {
          if (more.isSeen === true && !cut.behind) continue
          yield* within(make, ({ live, world }) =>
            Effect.gen(function*() {
              yield* live(cut)
              const kept = [...world.kept.keys()]
              const last = yield* live()
              assert.deepStrictEqual(last.exit, whole.report.exit, about)
              // Recorded waits are emitted once, and so are attempts with recorded failures: each with the wait behind
              // it.
              if (cut.behind && more.calls === undefined && !("inner" in ran) && !("pay" in ran)) {
                const told = ({ told }: World) => told.filter((line) => !way.includes("no") || line.includes("retry"))
                assert.deepStrictEqual(told(world), told(whole.world), about)
              }
              // A write that the ledger answers is not executed.
              if (cut.behind || !("pay" in ran)) {
                assert.deepStrictEqual(last.usage, whole.report.usage, about)
                assert.deepStrictEqual(byCall(last), byCall(whole.report), about)
              }
              assert.deepStrictEqual(last.transcript, whole.report.transcript, about)
              assert.deepStrictEqual(last.taintedBy, whole.report.taintedBy, about)
              assert.deepStrictEqual(world.requests.at(-1), whole.world.requests.at(-1), about)
              // Only unrecorded work is repeated.
              if (cut.behind && !way.includes("made again") && more.calls === undefined) {
                assert.deepStrictEqual(
                  { ...timesOf(world), outer: ran["outer"] },
                  { ...ran, outer: ran["outer"] },
                  about
                )
              }
              if (way.includes("made again") && kept.at(-1)?.startsWith("wait") === true) {
                assert.isAbove(world.ran.length, whole.world.ran.length, about)
              }
              // Recovery meets each failure as it was, unless the call is on record, or the attempt around it.
              if (!kept.some((key) => key.startsWith("call")) && ran["outer"] !== 2) {
                assert.deepStrictEqual(world.met.toSorted(), whole.world.met.toSorted(), about)
              }
              const third = yield* live()
              assert.deepStrictEqual(third.usage, last.usage, about)
              assert.deepStrictEqual(byCall(third), byCall(last), about)
              assert.deepStrictEqual(world.met, [], about)
            }), more)
        }
      }))
  }
})
