/**
 * An inner agent of a journaled run, running or waiting, that the run resumes or ends without: it is compensated once,
 * and not if only an execution ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { Agent, Approval, Audit, Journal, Tool, ToolError } from "@recourse/core"
import {
  Away,
  book,
  Boom,
  boss,
  both,
  call,
  described,
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
  undoneOnce,
  type Waits,
  waits,
  watched
} from "../support/bookings.ts"
import { journalOf } from "../support/interruptedRuns.ts"
import { type Case, cases } from "../support/abandonedAgents.ts"

/** Books, and then takes an hour. */
const works = (log: Log, compensation: object | undefined, more: object = {}) =>
  boss([book(log), pay(log), Slow], {
    instructions: "a",
    input: Schema.Unknown,
    compensation,
    ...more
  }) as unknown as Waits

const atWork = [call("book", {}, { id: "b" }), call("slow", {}, { id: "s" })] as const

const states = {
  "is at work": { agent: works, turns: { a: atWork } },
  waits: {
    agent: (log: Log, compensation: object | undefined) => waits(log, compensation) as unknown as Waits,
    turns: {}
  }
} as const

const journaled = (effect: Effect.Effect<unknown, unknown, never>, isCancelled?: () => boolean) =>
  Effect.provideService(effect, Journal.CurrentJournal, {
    ...journalOf().life().journal,
    ...(isCancelled === undefined ? undefined : { isCancelled })
  })

const named = { runId: "run_1" } as const
/** Ends of a running agent too. */
const places: ReadonlyArray<readonly [string, Case]> = [
  ...Object.entries(cases).filter(([name]) =>
    !name.startsWith("interactive") && name !== "an agent that is a tool, called by another tool"
  ),
  ["all within all: the run is interrupted", {
    agent: (a) => Agent.all("v", [Agent.all("w", [a, later(Effect.never)]) as never, later(Effect.never, "y")]),
    isInterrupted: true
  }],
  ["all within an agent that is a tool: the run is interrupted", {
    agent: (a) => boss([tool(Agent.all("w", [a, later(Effect.never)]), "w"), Slow]),
    turns: { boss: [both("w", "slow")] },
    isInterrupted: true
  }]
]

for (const [state, { agent, turns }] of Object.entries(states)) {
  describe(`an agent that ${state}`, () => {
    for (const [name, { agent: around, isInterrupted, turns: others }] of places) {
      const ends = isInterrupted === true
      const play = (log: Log, compensation: object | undefined, cancels = false) => {
        const seen = watched()
        let isCancelled = false
        const ran = (around(agent(log, compensation) as never) as Runs).run({}, named)
        const stopped = Effect.flatMap(
          Effect.forkChild(ran, { startImmediately: true }),
          (fiber) =>
            Effect.gen(function*() {
              yield* Effect.sleep("1 second")
              isCancelled = cancels
              yield* Fiber.interrupt(fiber)
              return yield* Fiber.join(fiber)
            })
        )
        return Effect.map(
          running(journaled(ends ? stopped : ran, cancels ? () => isCancelled : undefined), seen, {
            ...others,
            ...turns
          }),
          (exit) => ({ exit, seen })
        )
      }

      it.effect(`${name}: ${ends ? "stays, because only an execution ends" : "is compensated"}`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const { seen } = yield* play(log, {})
          isWhole(seen)
          if (!ends) return undoneOnce(log, seen)
          assert.deepStrictEqual(log, ["book"])
          assert.deepStrictEqual(seen.compensations(), [])
        }))

      if (ends) {
        it.effect(`${name}, and is cancelled: is compensated`, () =>
          Effect.gen(function*() {
            const log: Log = []
            undoneOnce(log, (yield* play(log, {}, true)).seen)
          }))
      }

      it.effect(`${name}: compensation for other ends has no effect and no events`, () =>
        Effect.gen(function*() {
          for (const compensation of [undefined, { after: ["failure"] }, { after: ["rejection"] }]) {
            const log: Log = []
            const { seen } = yield* play(log, compensation)
            assert.deepStrictEqual(log, ["book"])
            assert.isFalse(seen.events.some((event) => event._tag === "AgentStarted" && event.resumed))
            isWhole(seen)
          }
        }))
    }
  })
}

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

describe("writes compensated after a rejection", () => {
  it.effect("stay compensated in the next execution, which answers", () =>
    Effect.gen(function*() {
      const log: Log = []
      const agent = boss([book(log), pay(log)], { compensation: {} }) as unknown as Waits
      const turns = { boss: [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" }), text("not paid")] } as const
      const { life } = journalOf()
      const paused = yield* running(agent.start({}, named), watched(), turns)
      if (Exit.isFailure(paused) || paused.value._tag !== "Paused") return assert.fail("it waits")
      const { pending, snapshot } = paused.value
      const resume = (journal: Journal.Journal) =>
        running(
          agent.resume(JSON.parse(JSON.stringify(snapshot)), pending.map((one) => Approval.reject(one, "no"))).pipe(
            Effect.provideService(Journal.CurrentJournal, journal),
            Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
          ),
          watched(),
          turns
        )
      const { journal } = life()
      yield* resume({
        ...journal,
        record: (kind, key, value) => key.startsWith("told ") ? Effect.interrupt : journal.record(kind, key, value)
      })
      assert.deepStrictEqual(log, ["book", "unbook"])
      const exit = yield* resume(life().journal)
      assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag, "Completed")
      assert.deepStrictEqual(log, ["book", "unbook"])
    }))
})

describe("a waiting agent that is abandoned with changed tools", () => {
  it.effect("is compensated by its present tools", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const asking = (tools: ReadonlyArray<unknown>) =>
        boss([
          tool(boss(tools, { instructions: "a", compensation: {} }), "a"),
          tool(waits([], undefined, "c").pipe(Agent.andThen(later(Effect.fail(new Away())))), "c")
        ]) as unknown as Waits
      yield* running(
        Effect.flatMap(asking([book(log), pay(log)]).start({}), (paused) =>
          paused._tag === "Paused"
            ? asking([book(log), pay(log), Slow]).resume(
              JSON.parse(JSON.stringify(paused.snapshot)),
              paused.pending.filter(({ callId }) => callId.startsWith("c")).map((one) => Approval.approve(one))
            )
            : assert.fail("it waits")),
        seen,
        { boss: [both("a", "c")], c: [call("pay", {}, { id: "p" }), text("paid")] }
      )
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.deepStrictEqual(seen.compensations().map((line) => line.split(" ").at(-1)), ["undone"])
    }))
})

describe("an agent that waits within an abandoned one, with a missing tool", () => {
  const plain = Tool.make("a", { ...described, effects: "read", execute: () => Effect.succeed("plain") })
  const ways: Readonly<Record<string, ReadonlyArray<unknown>>> = {
    "is none any more": [],
    "is no agent any more": [plain]
  }
  for (const [what, tools] of Object.entries(ways)) {
    it.effect(`${what}: stays, and the run ends with its failure`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const asking = (within: ReadonlyArray<unknown>) =>
          boss([
            tool(boss(within, { instructions: "mid" }), "mid"),
            tool(waits([], undefined, "c").pipe(Agent.andThen(later(Effect.fail("no" as const)))), "c")
          ]) as unknown as Waits
        const exit = yield* running(
          Effect.flatMap(asking([tool(waits(log, {}), "a")]).start({}), (paused) =>
            paused._tag === "Paused"
              ? asking(tools).resume(
                JSON.parse(JSON.stringify(paused.snapshot)),
                paused.pending.filter(({ callId }) => callId.startsWith("c")).map((one) => Approval.approve(one))
              )
              : assert.fail("it waits")),
          seen,
          {
            boss: [both("mid", "c")],
            mid: [call("a", {}, { id: "a" })],
            c: [call("pay", {}, { id: "p" }), text("paid")]
          }
        )
        assert.deepStrictEqual(Exit.isFailure(exit) && exit.cause.reasons.map(({ _tag }) => _tag), ["Fail"])
        assert.deepStrictEqual(log, ["book"])
      }))
  }
})

describe("a run that is cancelled", () => {
  it.effect("lets others finish next to a waiting one, which is compensated", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      let isCancelled = false
      const slowly = book(log, "book", {
        execute: () => Effect.delay(Effect.sync(() => (log.push("book"), "book is done")), "1 second")
      })
      const a = boss([slowly, pay(log)], { instructions: "a", input: Schema.Unknown, compensation: {} })
      const z = later(Effect.sync(() => log.push("z")), "z", "2 seconds")
      yield* running(
        journaled(
          Effect.andThen(
            Effect.forkChild(Effect.delay(Effect.sync(() => isCancelled = true), "500 millis")),
            (Agent.all("w", [a, z] as never) as unknown as Runs).run({}, named)
          ),
          () => isCancelled
        ),
        seen
      )
      assert.deepStrictEqual(log, ["book", "unbook", "z"])
    }))

  for (
    const [what, decide] of Object.entries({
      answers: (one: Approval.PendingCall) => Approval.respond(one, null),
      approves: (one: Approval.PendingCall) => Approval.approve(one)
    })
  ) {
    it.effect(`is compensated in another execution with other tools, though a person ${what}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const agent = (tools: ReadonlyArray<unknown>) => boss(tools, { compensation: {} }) as unknown as Waits
        const exit = yield* running(
          Effect.gen(function*() {
            const paused = yield* agent([book(log), pay(log)]).start({}, named)
            assert(paused._tag === "Paused")
            const resumed = agent([book(log)]).resume(
              JSON.parse(JSON.stringify(paused.snapshot)),
              paused.pending.map(decide)
            )
            return yield* Effect.provideService(resumed, Journal.CurrentJournal, {
              ...journalOf().life().journal,
              isResumed: true,
              isCancelled: () => true
            })
          }),
          seen,
          { boss: [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" })] }
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
        assert.deepStrictEqual(log, ["book", "unbook"])
      }))
  }

  it.effect("refuses a decision about an agent whose tool is gone", () =>
    Effect.gen(function*() {
      const log: Log = []
      const exit = yield* running(
        Effect.gen(function*() {
          const paused = yield* (boss([tool(waits(log, {}), "a")]) as unknown as Waits).start({}, named)
          assert(paused._tag === "Paused")
          const resumed = (boss([]) as unknown as Waits).resume(
            JSON.parse(JSON.stringify(paused.snapshot)),
            paused.pending.map((one) => Approval.approve(one))
          )
          return yield* Effect.provideService(resumed, Journal.CurrentJournal, {
            ...journalOf().life().journal,
            isResumed: true,
            isCancelled: () => true
          })
        }),
        watched(),
        { boss: [call("a", {}, { id: "a" })] }
      )
      assert.deepInclude(Exit.isFailure(exit) && Cause.squash(exit.cause), {
        _tag: "SnapshotRefused",
        reason: "tools_changed"
      })
    }))
})

describe("parallel agents of an earlier execution that this one does not reach", () => {
  it.effect("are compensated when another one answers", () =>
    Effect.gen(function*() {
      const log: Log = []
      const { life } = journalOf()
      const agent = (wins: boolean) =>
        Agent.firstOf("v", [
          Agent.fromFunction("z", (_: unknown) => wins ? Effect.succeed("won") : Effect.never),
          Agent.all("w", [works(log, {})] as never)
        ] as never) as unknown as Runs
      const live = (wins: boolean, seen = watched()) =>
        Effect.map(
          running(
            Effect.timeoutOption(
              Effect.provideService(agent(wins).run({}, named), Journal.CurrentJournal, life().journal),
              "1 second"
            ),
            seen,
            { a: atWork }
          ),
          () => seen
        )
      yield* live(false)
      assert.deepStrictEqual(log, ["book"])
      const seen = yield* live(true)
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.strictEqual(seen.compensations().length, 1)
    }))
})

describe("a compensated failure that does not recur in the next execution", () => {
  const turns = {
    boss: [call("book", {}, { id: "b" }), call("car", {}, { id: "c" }), call("flaky", {}, { id: "f" }), text("done")]
  } as const
  const flaky = (state: { isDown: boolean }) =>
    Tool.make("flaky", {
      effects: "read",
      execute: () => Effect.suspend(() => state.isDown ? Effect.die("down") : Effect.void)
    })
  /** Two executions: entries of the first one up to a key are present in the second one. */
  const lives = (until: string, comesAgain = false) =>
    Effect.gen(function*() {
      const log: Log = []
      const state = { isDown: true }
      const agent = boss([book(log), book(log, "car"), flaky(state)], { compensation: {} }) as unknown as Runs
      const { life } = journalOf()
      const { journal, write } = life()
      let isCut = false
      yield* running(
        Effect.provideService(agent.run({}, named), Journal.CurrentJournal, {
          ...journal,
          record: (kind, key, value) =>
            Effect.suspend(() => {
              isCut ||= `${kind} ${key}`.startsWith(until)
              if (isCut) return Effect.interrupt
              write(kind, key, value)
              return Effect.void
            })
        }),
        watched(),
        turns
      )
      state.isDown = comesAgain
      const before = log.length
      const exit = yield* running(
        Effect.provideService(agent.run({}, named), Journal.CurrentJournal, life().journal),
        watched(),
        turns
      )
      return { exit, before, log }
    })

  it.effect("ends the run, whose other writes are compensated", () =>
    Effect.gen(function*() {
      for (
        const until of ["compensation begun run_1/4:book", "compensation run_1/3:car", "compensation told run_1/3:car"]
      ) {
        const { exit, log } = yield* lives(until)
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.instanceOf(error, Journal.NonDeterminismError, until)
        assert.match((error as Journal.NonDeterminismError).step, /^compensation run_1\/3:car/)
        // A started compensation without a recorded outcome needs a person.
        assert.deepStrictEqual(log, ["book", "car", "uncar", "unbook"], until)
      }
    }))

  it.effect("ends the run itself if it recurs", () =>
    Effect.gen(function*() {
      const { exit, log } = yield* lives("compensation begun run_1/4:book", true)
      const defect = Exit.isFailure(exit) && Cause.squash(exit.cause)
      assert.strictEqual(defect instanceof ToolError.ExecutorDefect && defect.reason, "down")
      assert.deepStrictEqual(log, ["book", "car", "uncar", "unbook"])
    }))

  it.effect("continues if no write was compensated for it", () =>
    Effect.gen(function*() {
      const { before, exit, log } = yield* lives("compensation begun run_1/3:car")
      assert.deepStrictEqual(exit, Exit.succeed("done"))
      assert.deepStrictEqual([before, log], [2, ["book", "car"]])
    }))
})
