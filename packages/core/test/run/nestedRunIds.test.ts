/** Runs that start within a run: their ids, their end with it, and observers outside of it. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Fiber } from "effect"
import { Agent, AgentEvent, ConfigurationError, Tool, ToolCall } from "@recourse/core"
import { collect } from "../support/kit.ts"

const { call, text } = ScriptedModel

/** An agent whose model answers as configured. */
const answers = (name: string, tools: ReadonlyArray<unknown> = [], ...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Agent.make(name, { instructions: name, tools } as never).pipe(
    Agent.provide(ScriptedModel.layer(ScriptedModel.steps([...turns, text("done")] as never)))
  ) as never as Agent.Agent<string, string, unknown, never>

/** A tool that does something, and the agent that calls it. */
const doing = (name: string, effect: Effect.Effect<unknown, unknown, ToolCall.ToolCall>) =>
  Tool.make(name, { effects: "read", execute: () => Effect.asVoid(Effect.orDie(effect)) as Effect.Effect<void> })
const within = (effect: Effect.Effect<unknown, unknown, ToolCall.ToolCall>) =>
  answers("outer", [doing("go", effect)], call("go", {}, { id: "g" }))

const begun = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) =>
    event._tag === "AgentStarted" ? [[event.agentRunId, event.parent?.agentRunId, event.parent?.callId]] : []
  )

const drive = <A, E>(effect: Effect.Effect<A, E, never>) => Drive.drive(Effect.exit(effect), { step: "100 millis" })

describe("the id of a run within a run", () => {
  const clerk = answers("clerk")
  const other = answers("other")
  const byHand = (id: string, agent = clerk) =>
    Effect.provideService(
      doing(`by_${id}`, agent.run("x")).call,
      ToolCall.ToolCall,
      ToolCall.make({ id, arguments: {} })
    )
  const cases: Readonly<
    Record<
      string,
      readonly [
        Agent.Agent<string, unknown, unknown, never>,
        ReadonlyArray<readonly [string, string, string | undefined]>
      ]
    >
  > = {
    "is that of the call": [within(clerk.run("x")), [["r/g", "r", "g"]]],
    "has a number from the second one in a call on": [
      within(Effect.andThen(clerk.run("x"), Effect.andThen(other.run("x"), clerk.run("x")))),
      [["r/g", "r", "g"], ["r/g#2", "r", "g"], ["r/g#3", "r", "g"]]
    ],
    "is that of the call within the call": [within(byHand("x")), [["r/g/x", "r", "g/x"]]],
    "is within that of the run around it": [
      within(answers("middle", [doing("ask", clerk.run("x"))], call("ask", {}, { id: "a" })).run("x")),
      [["r/g", "r", "g"], ["r/g/a", "r/g", "a"]]
    ],
    "is that of its step": [
      Agent.all("w", [clerk, other, clerk] as never) as never,
      [["r/clerk", "r", undefined], ["r/other", "r", undefined], ["r/clerk#2", "r", undefined]]
    ],
    "tells steps from runs that are none": [
      Agent.fromFunction("f", () => Effect.andThen(clerk.run("x"), clerk.run("x"))).pipe(
        Agent.andThen(clerk as never)
      ) as never,
      [["r/f", "r", undefined], ["r/f/clerk", "r/f", undefined], ["r/f/clerk#2", "r/f", undefined], [
        "r/clerk",
        "r",
        undefined
      ]]
    ]
  }
  for (const [name, [agent, expected]] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { events, layer } = collect()
        yield* drive(agent.run("go", { runId: "r" }).pipe(Effect.provide(layer)))
        assert.deepStrictEqual(begun(events), expected as never)
      }))
  }
})

describe("a run that outlives the call that began it", () => {
  const Slow = Tool.make("slow", {
    effects: "read",
    execute: () => Effect.onInterrupt(Effect.never, () => Effect.sleep("2 seconds"))
  })
  const slow = answers("slow one", [Slow], call("slow", {}, { id: "s" }))

  it.effect("ends with the run around it, which waits for it", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const outer = within(Effect.andThen(Effect.forkDetach(slow.run("x")), Effect.sleep("1 second")))
      const exit = yield* drive(outer.run("go", { runId: "r" }).pipe(Effect.provide(layer)))
      assert.isTrue(Exit.isSuccess(exit))
      const [inner, last] = events.slice(-2)
      assert.deepInclude(inner, { _tag: "AgentFinished", outcome: "interrupted", agentRunId: "r/g" })
      assert.deepInclude(last, { _tag: "RunFinished", outcome: "success" })
      assert.strictEqual(inner!.at - events[0]!.at, 3000)
    }))

  it.effect("and another one that has ended is waited for, and no more", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const outer = within(
        Effect.andThen(
          Effect.forkDetach(answers("quick").run("x")),
          Effect.andThen(Effect.forkDetach(slow.run("x")), Effect.sleep("1 second"))
        )
      )
      yield* drive(outer.run("go", { runId: "r" }).pipe(Effect.provide(layer)))
      const ends = events.flatMap((event) => event._tag === "AgentFinished" ? [event.outcome] : [])
      assert.deepStrictEqual(ends, ["success", "interrupted"])
      assert.strictEqual(events.at(-1)?._tag, "RunFinished")
    }))

  it.effect("and others are all waited for, whichever of them ends first", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const ends = (name: string, seconds: number) =>
        answers(
          name,
          [Tool.make("slow", {
            effects: "read",
            execute: () => Effect.onInterrupt(Effect.never, () => Effect.sleep(`${seconds} seconds`))
          })],
          call("slow", {}, { id: "s" })
        )
      const outer = within(
        Effect.andThen(
          Effect.forEach([ends("a", 2), ends("b", 4)], (one) => Effect.forkDetach(one.run("x"))),
          Effect.sleep("1 second")
        )
      )
      yield* drive(outer.run("go", { runId: "r" }).pipe(Effect.provide(layer)))
      const ended = events.filter(({ _tag }) => _tag === "AgentFinished" || _tag === "RunFinished")
      assert.deepStrictEqual(ended.map(({ at, path }) => [path.at(-1), at - events[0]!.at]), [
        ["a", 3000],
        ["b", 5000],
        ["outer", 5000]
      ])
    }))

  it.effect("does not begin another one, once the run around it has ended", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const exits: Array<Exit.Exit<unknown, unknown>> = []
      const late = Effect.andThen(Effect.sleep("3 seconds"), Effect.exit(answers("late").run("x")))
      const middle = answers(
        "middle",
        [doing("ask", Effect.uninterruptible(Effect.map(late, (exit) => exits.push(exit))))],
        call("ask", {}, { id: "a" })
      )
      const outer = within(Effect.andThen(Effect.forkDetach(middle.run("x")), Effect.sleep("1 second")))
      yield* drive(outer.run("go", { runId: "r" }).pipe(Effect.provide(layer)))
      assert.strictEqual(exits.length, 1)
      assert.instanceOf(
        Exit.isFailure(exits[0]!) && Cause.squash(exits[0].cause),
        ConfigurationError.ConfigurationError
      )
      assert.deepStrictEqual(begun(events).map(([id]) => id), ["r/g"])
    }))

  for (
    const [place, around] of Object.entries({
      "the run": (agent: Agent.Agent<string, string, unknown, never>) => agent,
      "the run around that": (agent: Agent.Agent<string, string, unknown, never>) =>
        Agent.all("w", [agent] as never) as never as Agent.Agent<string, unknown, unknown, never>
    })
  ) {
    it.effect(`does not start after the end of ${place}, with a named error`, () =>
      Effect.gen(function*() {
        const { events, layer } = collect()
        const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
        const late = Effect.andThen(Effect.sleep("5 seconds"), slow.run("x"))
        const outer = around(within(Effect.map(Effect.forkDetach(late), (fiber) => fibers.push(fiber))))
        yield* drive(outer.run("go", { runId: "r" }).pipe(Effect.provide(layer)))
        const exit = yield* drive(Fiber.join(fibers[0]!))
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.instanceOf(error, ConfigurationError.ConfigurationError)
        assert.include((error as Error).message, "\"slow one\"")
        assert.include((error as Error).message, "has ended: wait for it before that run ends")
        assert.isFalse(begun(events).some(([id]) => id?.includes("g/") === true || id === "r/g"))
        assert.strictEqual(events.at(-1)?._tag, "RunFinished")
      }))
  }
})

describe("a run that a watcher begins", () => {
  it.effect("is none of the run that it watches", () =>
    Effect.gen(function*() {
      const clerk = answers("clerk")
      const own = collect()
      let has = false
      const watching = AgentEvent.listen(({ _tag }) => {
        if (has || _tag !== "ToolCallStarted") return Effect.void
        has = true
        return Effect.asVoid(Effect.orDie(Effect.provide(clerk.run("x", { runId: "its own" }), own.layer)))
      })
      yield* drive(within(Effect.void).run("go", { runId: "r" }).pipe(Effect.provide(watching)))
      assert.deepInclude(own.events[0], { _tag: "RunStarted", runId: "its own", path: ["clerk"] })
      assert.isUndefined(own.events[0]?.parent)
    }))
})
