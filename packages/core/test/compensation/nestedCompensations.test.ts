/** Compensation of agents within agents, and of tools within tools. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { collect, Down } from "../support/kit.ts"
import { book, Desk, Fail, failing, Params, told } from "../support/compensatedBookings.ts"

describe("agents in agents, tools in tools", () => {
  const ask = (agent: Agent.Any) =>
    Agent.asTool("ask", { description: "Asks", parameters: Schema.Struct({}), success: Schema.String } as never)(
      agent as never
    ) as unknown as Tool.Tool<"ask", Schema.Top, Schema.Top, unknown, never>

  const modelOf = (turns: Readonly<Record<string, ReadonlyArray<ScriptedModel.Turn>>>) =>
    ScriptedModel.layer(({ prompt }) => {
      const [first] = prompt.content
      const who = first?.role === "system" ? first.content : ""
      return turns[who]![prompt.content.filter(({ role }) => role === "assistant").length]!
    })

  it.effect("the outer agent compensates the writes of a successful inner one", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const { events, layer } = collect()
      const inner = Agent.make("inner", {
        instructions: "inner",
        input: Schema.Struct({}),
        tools: [desk.tool("flight")]
      })
      const outer = Agent.make("outer", {
        instructions: "outer",
        tools: [ask(inner), desk.tool("hotel"), Fail],
        compensation: {}
      })
      yield* Effect.exit(outer.run("Go") as Effect.Effect<unknown, unknown, never>).pipe(
        Effect.provide(Layer.merge(
          modelOf({
            outer: [
              ScriptedModel.calls([{ name: "ask", params: {}, id: "a" }]),
              ...failing(book("hotel", 2))
            ],
            inner: [ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("Booked")]
          }),
          layer
        ))
      )
      assert.deepStrictEqual(desk.log, ["flight 1", "hotel 2", "undo hotel 2 102 2", "undo flight 1 101 1"])
      assert.deepStrictEqual(told(events), ["hotel_2 undone", "a/flight_1 undone"])
    }))

  it.effect("the inner agent's compensations are not repeated", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const inner = Agent.make("inner", {
        instructions: "inner",
        input: Schema.Struct({}),
        tools: [desk.tool("flight"), Fail],
        compensation: {}
      })
      const outer = Agent.make("outer", {
        instructions: "outer",
        tools: [ask(inner), Fail],
        onToolError: { ask: (call) => Effect.catch(call, () => Effect.succeed("no")) },
        compensation: {}
      })
      const exit = yield* Effect.exit(outer.run("Go") as Effect.Effect<unknown, unknown, never>).pipe(
        Effect.provide(modelOf({
          outer: [
            ScriptedModel.calls([{ name: "ask", params: {}, id: "a" }]),
            ScriptedModel.call("fail", {}, { id: "f" })
          ],
          inner: failing(book("flight", 1))
        }))
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(desk.log, ["flight 1", "undo flight 1 101 1"])
    }))

  it.effect("compensates a tool's call with the services of its execution", () =>
    Effect.gen(function*() {
      class Office extends Context.Service<Office, { readonly name: string }>()("test/Office") {}
      const desk = new Desk()
      const Inner = Tool.make("inner", {
        parameters: Params,
        effects: "write",
        execute: ({ n }) => Effect.flatMap(Office, ({ name }) => Effect.sync(() => void desk.log.push(`${name} ${n}`))),
        compensate: ({ n }) =>
          Effect.flatMap(Office, ({ name }) => Effect.sync(() => void desk.log.push(`undo ${name} ${n}`)))
      })
      const Outer = Tool.make("outer", {
        effects: "write",
        execute: () =>
          Inner.call.pipe(
            Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "i", arguments: { n: 4 } })),
            Effect.provideService(Office, { name: "Rome" })
          )
      })
      const { events, layer } = collect()
      yield* Effect.exit(
        Agent.make("clerk", { tools: [Outer, Fail], compensation: {} }).run("Go") as Effect.Effect<
          unknown,
          unknown,
          never
        >
      ).pipe(
        Effect.provide(Layer.merge(
          ScriptedModel.layer([
            ScriptedModel.call("outer", {}, { id: "o" }),
            ScriptedModel.call("fail", {}, { id: "f" })
          ]),
          layer
        ))
      )
      assert.deepStrictEqual(desk.log, ["Rome 4", "undo Rome 4"])
      assert.deepStrictEqual(told(events), ["o/i undone"])
    }))

  it.effect("a conversation that is given away is no failure", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const to = Agent.make("to", { instructions: "to" })
      const from = Agent.make("from", {
        instructions: "from",
        tools: [desk.tool("flight"), Agent.handoffTo("to", { description: "Goes on" })],
        compensation: {}
      })
      const exit = yield* Effect.exit(from.run("Go") as Effect.Effect<unknown, unknown, never>).pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls([book("flight", 1)]),
          ScriptedModel.call("transfer_to_to", {}, { id: "t" })
        ]))
      )
      assert.isTrue(Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause))
      assert.strictEqual(to.name, "to")
      assert.deepStrictEqual(desk.log, ["flight 1"])
    }))
})

describe("agents that are made of agents, and of calls", () => {
  const key = Approval.layerKey(Redacted.make("k".repeat(32)))
  const down = Agent.fromFunction("down", (_: string): Effect.Effect<string, Down> => Effect.fail(new Down()))

  it.effect("compensate the writes of earlier steps", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const left: Array<string> = []
      const booker = Agent.make("booker", { tools: [desk.tool("flight"), desk.tool("hotel")] })
      const agent = booker.pipe(
        Agent.andThen(down),
        Agent.compensated({ report: (all) => Effect.sync(() => void left.push(...all.map(({ tool }) => tool))) })
      )
      const { compensations, exit } = yield* agent.report("x")
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(desk.log, ["flight 1", "hotel 2", "undo hotel 2 102 2", "undo flight 1 101 1"])
      assert.deepStrictEqual(compensations?.map(({ outcome }) => outcome), ["undone", "undone"])
      assert.deepStrictEqual(left, [])
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.calls([book("flight", 1)]),
      ScriptedModel.calls([book("hotel", 2)]),
      ScriptedModel.text("booked")
    ]))))

  it.effect("over a pause, in a process with only the snapshot", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const agent = () => {
        const booker = Agent.make("booker", {
          tools: [desk.tool("flight"), desk.tool("hotel", { needsApproval: true })],
          defaults: { onError: Recovery.standard }
        })
        return booker.pipe(Agent.andThen(down), Agent.compensated({}))
      }
      const turns = [
        ScriptedModel.calls([book("flight", 1)]),
        ScriptedModel.calls([book("hotel", 2)]),
        ScriptedModel.text("booked")
      ] as const
      const process = <A, E>(effect: Effect.Effect<A, E, any>) =>
        effect.pipe(Effect.provide([key, ScriptedModel.layer(ScriptedModel.steps(turns))])) as Effect.Effect<A, E>
      const paused = yield* process(agent().start("x")) as Effect.Effect<Approval.Outcome<string>, unknown>
      assert.strictEqual(paused._tag, "Paused")
      const { pending, snapshot } = paused as Approval.Paused
      assert.deepStrictEqual(desk.log, ["flight 1"])
      const decisions = pending.map((call) => Approval.approve(call))
      yield* Effect.exit(process(agent().resume(JSON.parse(JSON.stringify(snapshot)), decisions)))
      assert.deepStrictEqual(desk.log, ["flight 1", "hotel 2", "undo hotel 2 102 2", "undo flight 1 101 1"])
    }))

  it.effect("a failed call of another library's loop is compensated", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const Flight = desk.tool("flight")
      const Trip = Tool.make("trip", {
        effects: "write",
        execute: () =>
          Effect.andThen(
            Effect.provideService(Flight.call, ToolCall.ToolCall, ToolCall.make({ id: "f", arguments: { n: 1 } })),
            Effect.fail("no hotel" as const)
          )
      })
      const tools = Agent.forCalls("tools", { tools: [Trip], compensation: { tools: [Flight] } })
      yield* Effect.exit(tools.run({ id: "c", name: "trip", arguments: {} }))
      assert.deepStrictEqual(desk.log, ["flight 1", "undo flight 1 101 1"])
    }))
})
