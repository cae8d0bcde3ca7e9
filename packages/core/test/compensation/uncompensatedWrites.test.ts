/**
 * Uncompensated writes of a run, by its snapshot and its journal: engines of durable runs report them for an abandoned
 * one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Schema } from "effect"
import { Agent, Approval, Journal, Tool, ToolCall } from "@recourse/core"
import {
  book,
  boss,
  both,
  byHand,
  call,
  input,
  later,
  type Log,
  pay,
  running,
  type Runs,
  standard,
  text,
  tool,
  type Waits,
  waits,
  type Watched,
  watched
} from "../support/bookings.ts"
import { cuts, journalOf } from "../support/interruptedRuns.ts"

/** The snapshot of a run that waits, in its stored form. */
const snapshotOf = (agent: unknown, turns: Parameters<typeof running>[2] = {}): Effect.Effect<unknown> =>
  Effect.map(running((agent as Waits).start({}), watched(), turns), (exit) => {
    if (Exit.isFailure(exit) || exit.value._tag !== "Paused") return assert.fail("it waits")
    return JSON.parse(JSON.stringify(exit.value.snapshot)) as unknown
  })

describe("of a run that waits", () => {
  const asks = { boss: [call("a", {}, { id: "a" })] } as const
  const forms: Readonly<
    Record<string, readonly [() => readonly [unknown, Parameters<typeof running>[2]?], ReadonlyArray<string>]>
  > = {
    "what it has done itself": [() => [waits([], {})], ["book b"]],
    "nothing, where nobody undoes it": [() => [waits([], undefined)], []],
    "nothing, where it has done nothing": [
      () => [
        Agent.make("p", { ...standard, instructions: "p", input, tools: [pay([])], compensation: {} }),
        { p: [call("pay", {}, { id: "p" })] }
      ],
      []
    ],
    "what the agents within have done, which undo it themselves": [
      () => [Agent.all("w", [waits([], {}), waits([], {}, "c")] as never)],
      ["book b", "book b"]
    ],
    "what an agent within an agent within has done": [
      () => [Agent.all("v", [Agent.all("w", [waits([], {}), later(Effect.succeed(1))] as never)] as never)],
      ["book b"]
    ],
    "what an agent that is a tool has done, by the calls around it": [
      () => [boss([tool(waits([], {}), "a")]), asks],
      ["book a/b"]
    ],
    "once, where the agent around it undoes it, too": [
      () => [boss([tool(waits([], {}), "a")], { compensation: {} }), asks],
      ["book a/b"]
    ],
    "by the calls around all of them, where agents that are tools are in each other": [
      () => [
        boss([tool(boss([tool(waits([], {}), "a")], { instructions: "mid" }), "mid")]),
        { boss: [call("mid", {}, { id: "m" })], mid: asks.boss }
      ],
      ["book m/a/b"]
    ],
    "what stands beside the agent that waits": [
      () => [
        boss([tool(waits([], undefined), "a"), book([], "car")], { compensation: {} }),
        { boss: [both("car", "a")] }
      ],
      ["book a/b", "car car"]
    ]
  }
  for (const [name, [form, expected]] of Object.entries(forms)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const snapshot = yield* snapshotOf(...form())
        const left = Approval.uncompensatedWrites({ snapshot })
        assert.deepStrictEqual(left.map(({ callId, tool }) => `${tool} ${callId}`).toSorted(), expected)
      }))
  }

  it.effect("with the arguments that it was done with", () =>
    Effect.gen(function*() {
      const seat = { parameters: Schema.Struct({ seat: Schema.String }) }
      const agent = Agent.make("a", {
        ...standard,
        instructions: "a",
        input,
        tools: [book([], "book", seat), pay([])],
        compensation: {}
      })
      const turns = { a: [call("book", { seat: "2A" }, { id: "b" }), call("pay", {}, { id: "p" })] } as const
      assert.deepStrictEqual(Approval.uncompensatedWrites({ snapshot: yield* snapshotOf(agent, turns) }), [
        { tool: "book", callId: "b", arguments: { seat: "2A" } }
      ])
    }))
})

describe("stored uncompensated writes", () => {
  const unknown = { tool: "unknown", callId: "unknown", arguments: null }
  const stored: Readonly<Record<string, readonly [unknown, ReadonlyArray<Approval.UncompensatedWrite>]>> = {
    "nothing of no snapshot": [undefined, []],
    "nothing of what is none": ["old", []],
    "nothing of a snapshot that says nothing of writes": [{ version: 9 }, []],
    "nothing of a round without agents": [{ round: { pending: [] } }, []],
    "a write of a later version, of which less is known": [{ done: [{ id: "x", deed: 1 }] }, [unknown]],
    "a write of a later version within an agent that waits": [
      { round: { nested: [{ callId: "a", snapshot: { done: [{ id: "x", tool: "t", callId: "c" }] } }] } },
      [{ ...unknown, tool: "t", callId: "a/c" }]
    ],
    "a write within, of which it is not said where": [
      { round: { nested: [{ snapshot: { done: [{ id: "x", tool: "t", callId: "c" }] } }] } },
      [{ ...unknown, tool: "t", callId: "c" }]
    ]
  }
  for (const [name, [snapshot, expected]] of Object.entries(stored)) {
    it(`${name}`, () => assert.deepStrictEqual(Approval.uncompensatedWrites({ snapshot }), expected))
  }
})

describe("of a run with a journal", () => {
  it.effect("of a journaled run: later uncompensated starts, interrupted anywhere", () =>
    Effect.gen(function*() {
      for (const cut of cuts(14)) {
        const log: Log = []
        const { kept, life } = journalOf()
        const agent = Agent.make("a", {
          ...standard,
          instructions: "a",
          input,
          tools: [book(log), book(log, "car"), Tool.make("boom", { effects: "read", execute: () => Effect.die("no") })],
          compensation: {}
        }) as unknown as Runs
        const turns = {
          a: [call("book", {}, { id: "b" }), call("car", {}, { id: "c" }), call("boom", {}, { id: "d" })]
        } as const
        yield* running(
          Effect.provide(agent.run({}, { runId: "run_1" }), Layer.succeed(Journal.CurrentJournal, life(cut).journal)),
          watched(),
          turns
        )
        const left = Approval.uncompensatedWrites({ journal: life().journal }).map(({ callId, tool }) =>
          `${tool} ${callId}`
        )
        assert.deepStrictEqual(left, ["book b", "car c"].filter((one) => left.includes(one)), cut.about)
        // Its outcome is known: the next execution reports it.
        for (const name of ["book", "car"]) {
          const isKnown = [...kept.keys()].some((key) => key.startsWith(`compensation run_1/${name.length}:${name}/`))
          if (isKnown) assert.isFalse(left.some((one) => one.startsWith(name)), `${name}, ${cut.about}`)
        }
        // All completed and uncompensated writes are reported; started ones, or those being compensated, are reported
        // to be safe.
        for (const name of ["book", "car"].filter((one) => log.includes(one) && !log.includes(`un${one}`))) {
          assert.isTrue(left.some((one) => one.startsWith(name)), `${name}, ${cut.about}`)
        }
      }
    }))

  const around: Readonly<Record<string, (inner: Runs, log: Log) => unknown>> = {
    "a tool runs it": (inner) => byHand(inner),
    "it is a tool": (inner) => tool(inner, "hand"),
    "a tool makes it, and no agent": (_, log) =>
      Tool.make("hand", {
        effects: "read",
        execute: () =>
          Effect.asVoid(
            Effect.provideService(book(log).call, ToolCall.ToolCall, ToolCall.make({ id: "b", arguments: {} }))
          )
      }),
    "a tool runs agents of which it is one": (inner) => byHand(Agent.all("w", [inner, later(Effect.never)] as never)),
    "a tool of an agent runs it that a tool runs": (inner) =>
      byHand(boss([byHand(inner, "mid")], { instructions: "mid" }))
  }
  for (const [name, form] of Object.entries(around)) {
    it.effect(`by the calls around its agent, next to their results: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const { life } = journalOf()
        const inner = Agent.make("inner", { ...standard, instructions: "inner", input, tools: [book(log)] })
        const agent = boss([book(log, "car"), form(inner as unknown as Runs, log)], {
          compensation: { tools: [book(log)] }
        }) as unknown as Runs
        // The models give equal ids.
        const turns = {
          boss: [call("car", {}, { id: "b" }), call("hand", {}, { id: "h" })],
          mid: [call("mid", {}, { id: "b" }), text("done")],
          inner: [call("book", {}, { id: "b" }), text("booked")]
        } as const
        const expected = name.includes("of an agent") ? "h/b/b" : "h/b"
        const live = (journal: Journal.Journal, seen: Watched) =>
          running(
            Effect.flatMap(
              Effect.forkChild(
                Effect.provideService(agent.report({}, { runId: "run_1" }), Journal.CurrentJournal, journal)
              ),
              (fiber) => Effect.andThen(Effect.delay(Fiber.interrupt(fiber), "5 seconds"), Fiber.join(fiber))
            ),
            seen,
            turns
          )
        // The process ends when the agent within has booked, and before that is known around it.
        const { journal } = life()
        yield* live({
          ...journal,
          record: (kind, key, value) =>
            kind === "call" && key === "/h" ? Effect.interrupt : journal.record(kind, key, value)
        }, watched())
        assert.deepStrictEqual(
          Approval.uncompensatedWrites({ journal: life().journal }).map(({ callId, tool }) => `${tool} ${callId}`),
          ["car b", `book ${expected}`]
        )
        const seen = watched()
        const ended = yield* live({ ...life().journal, isCancelled: () => true }, seen)
        assert.deepStrictEqual(log, ["car", "book", "unbook", "uncar"])
        assert.deepStrictEqual(seen.compensations(), [`boss ${expected} undone`, "boss b undone"])
        const { compensations, transcript } = Exit.isSuccess(ended) ? ended.value : assert.fail()
        assert.deepStrictEqual(compensations?.map(({ callId }) => callId), [expected, "b"])
        const results = transcript.content.flatMap((message) => message.role === "tool" ? message.content : [])
        const undone = (part: unknown) => (part as { readonly result?: { readonly undone?: unknown } }).result?.undone
        assert.deepStrictEqual(results.map(undone), [["car"], ["book"]])
      }))
  }

  it.effect("by the compensating agent's calls if nested in another one", () =>
    Effect.gen(function*() {
      const log: Log = []
      const { life } = journalOf()
      const inner = Agent.make("inner", { ...standard, instructions: "inner", input, tools: [book(log)] })
      const middle = boss([byHand(inner, "mid")], { instructions: "mid", compensation: { tools: [book(log)] } })
      const agent = boss([tool(middle, "hand")]) as unknown as Runs
      const live = (journal: Journal.Journal, seen: Watched) =>
        running(
          Effect.flatMap(
            Effect.forkChild(
              Effect.provideService(agent.report({}, { runId: "run_1" }), Journal.CurrentJournal, journal)
            ),
            (fiber) => Effect.andThen(Effect.delay(Fiber.interrupt(fiber), "5 seconds"), Fiber.join(fiber))
          ),
          seen,
          {
            boss: [call("hand", {}, { id: "h" })],
            mid: [call("mid", {}, { id: "m" }), text("done")],
            inner: [call("book", {}, { id: "b" }), text("booked")]
          }
        )
      const { journal } = life()
      yield* live({
        ...journal,
        record: (kind, key, value) =>
          kind === "call" && key.endsWith("/m") ? Effect.interrupt : journal.record(kind, key, value)
      }, watched())
      const seen = watched()
      const ended = yield* live({ ...life().journal, isCancelled: () => true }, seen)
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.deepStrictEqual(seen.compensations(), ["boss/boss m/b undone"])
      const { compensations } = Exit.isSuccess(ended) ? ended.value : assert.fail()
      assert.deepStrictEqual(compensations?.map(({ callId }) => callId), ["h/m/b"])
    }))

  it.effect("by each of two agents for its own writes", () =>
    Effect.gen(function*() {
      const log: Log = []
      const { life } = journalOf()
      const trip = Tool.make("trip", {
        effects: "read",
        execute: () =>
          Effect.asVoid(
            Effect.provideService(book(log).call, ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: {} }))
          )
      })
      const booker = boss([trip], { compensation: { tools: [book(log)] } })
      const agent = Agent.all("w", [booker, booker] as never) as unknown as Runs
      const live = (journal: Journal.Journal, seen: Watched) =>
        running(
          Effect.flatMap(
            Effect.forkChild(
              Effect.provideService(agent.report({}, { runId: "run_1" }), Journal.CurrentJournal, journal)
            ),
            (fiber) => Effect.andThen(Effect.delay(Fiber.interrupt(fiber), "5 seconds"), Fiber.join(fiber))
          ),
          seen,
          { boss: [call("trip", {}, { id: "t" }), text("booked")] }
        )
      const { journal } = life()
      yield* live({
        ...journal,
        record: (kind, key, value) =>
          kind === "call" && key.endsWith("/t")
            ? Effect.andThen(Effect.sleep("1 second"), Effect.interrupt)
            : journal.record(kind, key, value)
      }, watched())
      const seen = watched()
      yield* live({ ...life().journal, isCancelled: () => true }, seen)
      assert.deepStrictEqual(log, ["book", "book", "unbook", "unbook"])
      const told = seen.events.filter((event) => event._tag === "ToolCompensated")
      assert.deepStrictEqual(told.map(({ callId, outcome }) => `${callId} ${outcome}`), ["t/x undone", "t/x undone"])
      assert.strictEqual(new Set(told.map(({ agentRunId }) => agentRunId)).size, 2)
    }))
})
