/** The tool that compensates a write of another process, if several agents, skills or lists have a tool of its name. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Agent, Approval, Skill, Tool, ToolCall } from "@recourse/core"
import { book, call, type Log, pay, running, standard, text, type Waits, watched } from "../support/bookings.ts"

/** A tool that books, and names its owner when it compensates. */
const bookOf = (log: Log, whose: string, more: object = {}) =>
  book(log, "book", {
    execute: () => Effect.succeed("a room"),
    compensate: () => Effect.sync(() => void log.push(whose)),
    ...more
  })

/** A tool that calls another one. */
const trip = (made: { readonly call: Effect.Effect<unknown, unknown, ToolCall.ToolCall> }) =>
  Tool.make("trip", {
    effects: "read",
    execute: () =>
      Effect.asVoid(
        Effect.provideService(made.call, ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: {} }))
      ) as Effect.Effect<void>
  })

const Die = Tool.make("die", { effects: "read", execute: () => Effect.die("no") })

const agentNamed = (log: Log, name: string, tools: ReadonlyArray<unknown>, more: object = {}) =>
  Agent.make(
    name,
    { ...standard, instructions: name, input: Schema.Unknown, tools: [...tools, pay(log), Die], ...more } as never
  )
const clerk = (log: Log, tools: ReadonlyArray<unknown>, more: object = {}) =>
  agentNamed(log, "clerk", tools, { compensation: {}, ...more })
const skill = (name: string, tools: ReadonlyArray<unknown>) =>
  Skill.make(name, { description: name, tools: tools as never })

/** Agents of which the second one has booked, and the last one waits and dies. */
const several = (log: Log, agents: ReadonlyArray<unknown>, tools: ReadonlyArray<unknown> = []) =>
  Agent.all("w", [...agents, agentNamed(log, "last", [])] as never).pipe(Agent.compensated({ tools } as never))

const byModel = [call("book", {}, { id: "b" })] as const
const byTool = [call("trip", {}, { id: "t" })] as const
const ends = [call("pay", {}, { id: "p" }), call("die", {}, { id: "d" })] as const

const cases: Readonly<
  Record<string, readonly [(log: Log) => unknown, NonNullable<Parameters<typeof running>[2]>, ReadonlyArray<string>]>
> = {
  "the model's: its agent's": [
    (log) => clerk(log, [bookOf(log, "clerk")], { compensation: { tools: [bookOf(log, "listed")] } }),
    { clerk: [...byModel, ...ends] },
    ["clerk"]
  ],
  "the model's: that of the skill that was chosen": [
    (log) =>
      clerk(log, [], {
        skills: [skill("flights", [bookOf(log, "flights")]), skill("hotels", [bookOf(log, "hotels")])],
        skill: "hotels"
      }),
    { clerk: [...byModel, ...ends] },
    ["hotels"]
  ],
  "the model's: its agent's, beside the skill": [
    (log) => clerk(log, [bookOf(log, "clerk")], { skills: [skill("hotels", [])], skill: "hotels" }),
    { clerk: [...byModel, ...ends] },
    ["clerk"]
  ],
  "the model's: its agent's, and no other agent's": [
    (log) => several(log, [agentNamed(log, "one", [bookOf(log, "one")]), agentNamed(log, "two", [bookOf(log, "two")])]),
    { one: [text("no")], two: [...byModel, text("booked")], last: ends },
    ["two"]
  ],
  "a tool's: its agent's": [
    (log) => {
      const own = bookOf(log, "clerk")
      return clerk(log, [own, trip(own)])
    },
    { clerk: [...byTool, ...ends] },
    ["clerk"]
  ],
  "a tool's: a listed one": [
    (log) => clerk(log, [trip(bookOf(log, "made"))], { compensation: { tools: [bookOf(log, "listed")] } }),
    { clerk: [...byTool, ...ends] },
    ["listed"]
  ],
  "a tool's: a listed one, and not that of another agent": [
    (log) =>
      several(log, [
        agentNamed(log, "one", [bookOf(log, "one")]),
        agentNamed(log, "two", [trip(bookOf(log, "made"))])
      ], [bookOf(log, "listed")]),
    { one: [text("no")], two: [...byTool, text("booked")], last: ends },
    ["listed"]
  ],
  "a tool's: its agent's, and not that of another agent": [
    (log) => {
      const own = bookOf(log, "two")
      return several(log, [agentNamed(log, "one", [bookOf(log, "one")]), agentNamed(log, "two", [own, trip(own)])])
    },
    { one: [text("no")], two: [...byTool, text("booked")], last: ends },
    ["two"]
  ],
  "a tool's: where neither has one, that of another agent": [
    (log) =>
      several(log, [
        agentNamed(log, "one", [bookOf(log, "one")]),
        agentNamed(log, "two", [trip(bookOf(log, "made"))])
      ]),
    { one: [text("no")], two: [...byTool, text("booked")], last: ends },
    ["one"]
  ],
  "a tool's: the one that undoes, of several of its name": [
    (log) =>
      several(log, [
        agentNamed(log, "one", [bookOf(log, "one")]),
        agentNamed(log, "other", [bookOf(log, "other", { compensate: undefined })]),
        agentNamed(log, "two", [trip(bookOf(log, "made"))])
      ]),
    { one: [text("no")], other: [text("no")], two: [...byTool, text("booked")], last: ends },
    ["one"]
  ],
  "a tool's: none, where two others have one": [
    (log) =>
      several(log, [
        agentNamed(log, "one", [bookOf(log, "one")]),
        agentNamed(log, "other", [bookOf(log, "other")]),
        agentNamed(log, "two", [trip(bookOf(log, "made"))])
      ]),
    { one: [text("no")], other: [text("no")], two: [...byTool, text("booked")], last: ends },
    []
  ],
  "a tool's: none, where its agent has one and another is listed": [
    (log) => {
      const own = bookOf(log, "clerk")
      return clerk(log, [own, trip(own)], { compensation: { tools: [bookOf(log, "listed")] } })
    },
    { clerk: [...byTool, ...ends] },
    []
  ],
  "a tool's: one that is listed twice": [
    (log) => {
      const listed = bookOf(log, "listed")
      return clerk(log, [trip(bookOf(log, "made"))], { compensation: { tools: [listed, listed] } })
    },
    { clerk: [...byTool, ...ends] },
    ["listed"]
  ]
}

describe("a write is compensated by its own tool", () => {
  for (const [name, [agent, turns, undone]] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        // Another process: none of the tools that have booked is there.
        yield* running(
          Effect.flatMap((agent([]) as Waits).start({}), (paused) =>
            paused._tag === "Paused"
              ? (agent(log) as Waits).resume(
                JSON.parse(JSON.stringify(paused.snapshot)),
                paused.pending.map((one) => Approval.approve(one))
              )
              : assert.fail("it waits")),
          seen,
          turns
        )
        assert.deepStrictEqual(log.filter((one) => one !== "pay"), [...undone])
        assert.deepStrictEqual(
          seen.events.flatMap((event) => event._tag === "ToolCompensated" ? [event.because ?? event.outcome] : []),
          [undone.length > 0 ? "undone" : "no_tool"]
        )
      }))
  }
})
