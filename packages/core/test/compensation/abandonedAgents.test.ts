/** A compensating agent waits within a run that resumes or ends without it: it is compensated once, with events. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { Agent, Approval, Tool } from "@recourse/core"
import {
  asking,
  Away,
  book,
  boss,
  both,
  call,
  interrupted,
  isWhole,
  key,
  later,
  type Log,
  pay,
  running,
  type Runs,
  standard,
  text,
  tool,
  undoneOnce,
  type Waits,
  waits,
  type Watched,
  watched
} from "../support/bookings.ts"
import { type Case, cases } from "../support/abandonedAgents.ts"

it.effect("an agent that waits at an exhausted outer budget is compensated", () =>
  Effect.gen(function*() {
    const log: Log = []
    const seen = watched()
    // One attempt waits, and the parallel one exceeds the cap.
    const twice = pay(log).pipe(Tool.onError((call) => Effect.race(call, call)))
    const a = Agent.make("a", {
      ...standard,
      instructions: "a",
      input: Schema.Unknown,
      tools: [book(log), twice],
      compensation: {}
    })
    const agent = boss([tool(a, "a")], { budget: { retriesPerTool: 0 } }) as unknown as Runs
    const exit = yield* running(agent.run({}), seen, { boss: [call("a", {}, { id: "a" })] })
    assert.isTrue(Exit.isFailure(exit))
    assert.isTrue(seen.events.some((event) => event._tag === "RunFinished" && event.code === "budget_exceeded"))
    undoneOnce(log, seen)
  }))

it.effect("a waiting agent is compensated though its time is used up", () =>
  Effect.gen(function*() {
    const log: Log = []
    const seen = watched()
    const slowly = book(log, "book", {
      execute: () => Effect.delay(Effect.sync(() => (log.push("book"), "book is done")), "2900 millis")
    })
    const a = boss([slowly, pay(log)], {
      instructions: "a",
      input: Schema.Unknown,
      compensation: { after: ["interruption"] },
      budget: { duration: "3 seconds" }
    })
    const agent = Agent.all("w", [a, later(Effect.fail(new Away()), "z", "4 seconds")] as never) as unknown as Runs
    yield* running(agent.run({}), seen)
    undoneOnce(log, seen)
    assert.deepStrictEqual(
      seen.events.flatMap((event) => event._tag === "AgentFinished" && event.path.length === 2 ? [event.outcome] : []),
      ["paused", "failure", "interrupted"]
    )
  }))

it.effect("a waiting agent compensates the rest of the outer agent's compensation", () =>
  Effect.gen(function*() {
    const log: Log = []
    const seen = watched()
    const a = boss([book(log), book(log, "car"), pay(log)], {
      instructions: "a",
      input: Schema.Unknown,
      compensation: { after: ["interruption"] }
    })
    const c = waits([], undefined, "c").pipe(Agent.andThen(later(Effect.fail(new Away()))))
    const agent = boss([tool(a, "a"), tool(c, "c")], { compensation: { after: ["rejection"] } }) as unknown as Waits
    yield* running(
      Effect.flatMap(agent.start({}), (paused) =>
        paused._tag === "Paused"
          ? agent.resume(
            paused.snapshot,
            paused.pending.map((one) => one.callId.startsWith("c") ? Approval.approve(one) : Approval.reject(one, "no"))
          )
          : assert.fail("it waits")),
      seen,
      {
        boss: [both("a", "c")],
        a: [
          call("book", {}, { id: "b" }),
          call("pay", {}, { id: "p" }),
          call("car", {}, { id: "d" }),
          call("pay", {}, { id: "q" })
        ],
        c: [call("pay", {}, { id: "p" }), text("paid")]
      }
    )
    assert.deepStrictEqual(log, ["book", "car", "unbook", "uncar"])
    assert.strictEqual(seen.compensations().length, 2)
  }))

for (const end of ["fails", "dies", "does not fit"] as const) {
  it.effect(`an inner interactive agent, whose second question ${end}, has one result per call`, () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const ask = (pending: Approval.PendingCall): Effect.Effect<Approval.Decision, Away> => {
        const approved = Approval.approve(pending)
        if (pending.callId.endsWith("p")) return Effect.succeed(approved)
        return end === "fails"
          ? Effect.fail(new Away())
          : end === "dies"
          ? Effect.die("away")
          : Effect.succeed({ ...approved, argumentsHash: "00" })
      }
      const agent = Agent.all("w", [asking(waits(log, {}), ask)])
      const turns = [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" }), call("pay", {}, { id: "q" })] as const
      assert.isTrue(Exit.isFailure(yield* running(agent.run({}), seen, { a: turns })))
      assert.deepStrictEqual(log, ["book", "pay", "unbook"])
      assert.strictEqual(seen.compensations().filter((line) => line.endsWith(" b undone")).length, 1)
      const codes = seen.events.flatMap((event) =>
        event._tag === "ToolResult" ? [`${event.callId} ${event.code ?? "done"}`] : []
      )
      assert.deepStrictEqual(codes, ["b done", "p done", "q approval_required"])
    }))
}

it.effect("a snapshot has compensable writes only if they can be compensated", () =>
  Effect.gen(function*() {
    for (const compensation of [{}, undefined]) {
      const log: Log = []
      const started = yield* running((waits(log, compensation) as unknown as Waits).start({}), watched())
      if (!Exit.isSuccess(started) || started.value._tag !== "Paused") return assert.fail("it waits")
      assert.deepStrictEqual(log, ["book"])
      assert.strictEqual("done" in started.value.snapshot, compensation !== undefined)
    }
  }))

describe("a waiting agent that the outer run abandons", () => {
  const go = ({ agent, isInterrupted, turns }: Case, a: unknown, seen: Watched) => {
    const ran = (agent(a as Waits) as Runs).run({})
    return running(
      isInterrupted === true ? interrupted(ran) : ran,
      seen,
      turns
    )
  }
  const all = Object.entries(cases)
  it.effect.each(all)("%s", ([, one]) =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const exit = yield* go(one, waits(log, {}), seen)
      assert.strictEqual(Exit.isSuccess(exit), one.isGood === true)
      undoneOnce(log, seen)
    }))

  const others = { "it undoes nothing": undefined, "it undoes failures only": { after: ["failure"] } } as const
  for (const [name, compensation] of Object.entries(others)) {
    it.effect.each(all)(`where ${name}, nothing more is told: %s`, ([, one]) =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        yield* go(one, waits(log, compensation), seen)
        assert.deepStrictEqual(log, ["book"])
        assert.deepStrictEqual(seen.compensations(), [])
        assert.isFalse(seen.events.some((event) => event._tag === "AgentStarted" && event.resumed))
        isWhole(seen)
      }))
  }
})

describe("a waiting agent whose snapshot cannot be claimed at resumption", () => {
  const judge = Agent.make("judge", {
    ...standard,
    instructions: "judge",
    input: Schema.Unknown,
    output: Schema.Int,
    tools: [pay([])]
  })
  const forms: Readonly<Record<string, (a: Waits) => unknown>> = {
    "bestOf, whose judge waits": (a) => Agent.bestOf(a, { n: 2, judge: judge as never }),
    vote: (a) => a.pipe(Agent.vote(2)),
    bestOf: (a) => Agent.bestOf(a, { n: 2, judge: Agent.fromFunction("judge", (_: unknown) => Effect.succeed(0)) }),
    firstOf: (a) => Agent.firstOf("w", [a, a])
  }
  for (const [name, form] of Object.entries(forms)) {
    it.effect(`is compensated, because another one answers: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const agent = form(waits(log, {}) as never) as Waits
        let claims = 0
        const store = Layer.succeed(Approval.Resumptions, {
          claim: () => Effect.suspend(() => ++claims === 2 ? Effect.die("down") : Effect.succeed(true))
        })
        const exit = yield* running(
          Effect.gen(function*() {
            let ended = yield* agent.start({})
            while (ended._tag === "Paused") {
              ended = yield* agent.resume(ended.snapshot, ended.pending.map((call) => Approval.approve(call)))
            }
            return ended
          }).pipe(Effect.provide([store, key])),
          seen,
          { judge: [call("pay", {}, { id: "j" }), text("0")] }
        )
        assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag, "Completed")
        assert.deepStrictEqual(log.toSorted(), ["book", "book", "pay", "unbook"])
        assert.strictEqual(seen.compensations().length, 1)
      }))
  }
})
