/** Inner agents that are interrupted at work. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Schema } from "effect"
import { Agent, Approval, Audit, Tool } from "@recourse/core"
import {
  Away,
  book,
  Boom,
  boss,
  both,
  call,
  fails,
  isWhole,
  later,
  type Log,
  pay,
  running,
  type Runs,
  Slow,
  standard,
  text,
  tool,
  type Waits,
  waits,
  watched
} from "../support/bookings.ts"
import { atWork, journaled, named, works } from "../support/journaledAgents.ts"

describe("an agent that is cut off at work", () => {
  const play = (agent: unknown, turns: Parameters<typeof running>[2], more: Layer.Layer<never> = Layer.empty) =>
    Effect.suspend(() => {
      const seen = watched()
      const ran = running(journaled((agent as Runs).run({}, named).pipe(Effect.provide(more))), seen, turns)
      return Effect.map(ran, (exit) => ({ exit, seen }))
    })

  it.effect("is reported as resumed, interrupted, and with its usage", () =>
    Effect.gen(function*() {
      const { seen } = yield* play(Agent.all("w", [works([], {}), fails] as never), { a: atWork })
      const told = seen.events.filter((event) => event.path.at(-1) === "boss")
      const from = told.findIndex((event) => event._tag === "AgentStarted" && event.resumed)
      assert.deepStrictEqual(told.slice(from).map(({ _tag }) => _tag), [
        "AgentStarted",
        "ToolCompensated",
        "AgentFinished"
      ])
      const [first, second] = told.filter((event) => event._tag === "AgentFinished")
      assert.strictEqual(first?.outcome, "interrupted")
      assert.deepInclude(second, { outcome: "interrupted", usage: first!.usage, agentRunId: first!.agentRunId })
      assert.isAbove(first!.usage.toolCalls, 0)
    }))

  it.effect("is compensated once, by itself or by an outer agent", () =>
    Effect.gen(function*() {
      for (const inner of [{}, undefined]) {
        const log: Log = []
        const agent = boss([tool(works(log, inner), "a"), Boom], { compensation: {} })
        const { seen } = yield* play(agent, { boss: [both("a", "boom")], a: atWork })
        assert.deepStrictEqual(log, ["book", "unbook"])
        assert.strictEqual(seen.compensations().length, 1)
        isWhole(seen)
      }
    }))

  it.effect("is compensated with its own services", () =>
    Effect.gen(function*() {
      class Office extends Context.Service<Office, { readonly name: string }>()("test/CutOff/Office") {}
      const log: Log = []
      const Book = Tool.make("book", {
        effects: "write",
        execute: () => Effect.void,
        compensate: () => Effect.flatMap(Office, ({ name }) => Effect.sync(() => void log.push(name)))
      })
      const a = Agent.make("a", {
        ...standard,
        instructions: "a",
        input: Schema.Unknown,
        tools: [Book, Slow],
        compensation: {}
      }).pipe(Agent.provide(Layer.succeed(Office, { name: "Rome" })))
      yield* play(Agent.all("w", [a, fails] as never), { a: atWork })
      assert.deepStrictEqual(log, ["Rome"])
    }))

  it.effect("does not get its own services again without writes", () =>
    Effect.gen(function*() {
      let made = 0
      const a = boss([Slow], { instructions: "a", compensation: {} }).pipe(
        Agent.provide(Layer.effectDiscard(Effect.sync(() => made++))) as never
      )
      yield* play(Agent.all("w", [a, fails] as never), { a: [call("slow", {}, { id: "s" })] })
      assert.strictEqual(made, 1)
    }))

  it.effect("is compensated though its audit fails, which is logged", () =>
    Effect.gen(function*() {
      const log: Log = []
      const full = Audit.layer(({ decision }) => decision === "compensated" ? Effect.die("full") : Effect.void)
      const { exit, seen } = yield* play(Agent.all("w", [works(log, {}), fails] as never), { a: atWork }, full)
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.instanceOf(Exit.isFailure(exit) && Cause.squash(exit.cause), Away)
      assert.strictEqual(seen.messages.filter((message) => message.includes("An audit could not be written")).length, 1)
      const other = yield* play(Agent.all("w", [works([], {}), fails] as never), { a: atWork })
      assert.deepStrictEqual(other.seen.messages.filter((message) => message.includes("audit")), [])
    }))

  for (
    const [state, { last }] of Object.entries({
      "at work": { last: call("slow", {}, { id: "s" }) },
      "waiting again": { last: call("pay", {}, { id: "q" }) }
    })
  ) {
    it.effect(`behind a rejection, ${state}: earlier writes, all, or none are compensated`, () =>
      Effect.gen(function*() {
        for (const hasJournal of [true, false]) {
          for (
            const [after, undone] of [
              [["rejection"], ["unbook"]],
              [["interruption"], ["uncar", "unbook"]],
              [["failure"], []]
            ] as const
          ) {
            const log: Log = []
            const a = boss([book(log), book(log, "car"), pay(log), Slow], {
              instructions: "a",
              input: Schema.Unknown,
              compensation: { after }
            })
            const c = waits(log, undefined, "c").pipe(Agent.andThen(later(Effect.fail(new Away()))))
            const agent = Agent.all("w", [a, c] as never) as unknown as Waits
            const seen = watched()
            yield* running(
              Effect.flatMap(agent.start({}, named), (paused) => {
                if (paused._tag !== "Paused") return assert.fail("it waits")
                const resumed = agent.resume(
                  JSON.parse(JSON.stringify(paused.snapshot)),
                  paused.pending.map((one) =>
                    one.callId.startsWith("c") ? Approval.approve(one) : Approval.reject(one, "no")
                  )
                )
                return hasJournal ? journaled(resumed) : resumed
              }),
              seen,
              {
                a: [
                  call("book", {}, { id: "b" }),
                  call("pay", {}, { id: "p" }),
                  call("car", {}, { id: "d" }),
                  last
                ],
                c: [call("pay", {}, { id: "p" }), text("paid")]
              }
            )
            assert.deepStrictEqual(log.filter((one) => one !== "pay"), ["book", "car", ...undone], after.join())
            assert.strictEqual(seen.compensations().length, undone.length)
          }
        }
      }))
  }
})
