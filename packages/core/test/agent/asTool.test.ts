/** Agents as tools: their offer to a model, and their inputs. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentEvent, Approval, ConfigurationError, Recovery, Tool, ToolCall, ToolError } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Redacted, Schema } from "effect"
import { Tool as AiTool } from "effect/ai"
import {
  boss,
  call,
  described,
  key,
  type Log,
  models,
  standard,
  text,
  tool,
  type Waits,
  waits
} from "../support/bookings.ts"
import { lastResults } from "../support/kit.ts"

const description = "Asks"

const schemaOf = (tool: { readonly definition: AiTool.Any }): unknown => AiTool.getJsonSchema(tool.definition)

describe("an agent that is a tool", () => {
  it.effect("takes a text by the name `input`", () =>
    Effect.gen(function*() {
      const poet = Agent.make("poet", { instructions: "Answer in verse." })
      const tool = poet.pipe(Agent.asTool("ask", { description }))
      assert.deepStrictEqual(schemaOf(tool), {
        type: "object",
        properties: { input: { type: "string" } },
        required: ["input"],
        additionalProperties: true
      } as unknown)
      const desk = Agent.make("desk", { tools: [tool], defaults: { onError: Recovery.standard } })
      const [answer, seen] = yield* desk.run("go").pipe(
        Effect.zip(Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)),
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.call("ask", {}),
          ScriptedModel.call("ask", { input: "The sea" }),
          ScriptedModel.text("Blue it is"),
          ScriptedModel.text("done")
        ]))
      )
      assert.strictEqual(answer, "done")
      const last = seen.map(({ prompt }) => JSON.stringify(prompt.content.at(-1)))
      assert.include(last[1], "input: required")
      assert.include(last[2], "The sea")
      assert.include(last[3], "Blue it is")
    }))

  it("takes an object unchanged, also if provided or interactive", () => {
    const order = Schema.Struct({ id: Schema.FiniteFromString, notes: Schema.Array(Schema.String) })
    const clerk = Agent.make("clerk", { input: order, output: Schema.Int })
    const ways = [
      clerk,
      clerk.pipe(Agent.provide(ScriptedModel.layer([]))),
      clerk.pipe(Approval.interactive((call) => Effect.succeed(Approval.approve(call))))
    ] as const
    for (const way of ways) {
      assert.strictEqual(way.input, order)
      assert.strictEqual(way.output, Schema.Int)
    }
    const tool = clerk.pipe(Agent.asTool("ask", { description }))
    assert.strictEqual(tool.parameters as unknown, order)
    assert.strictEqual(tool.success, Schema.Int)
  })

  it.effect("takes other inputs by the name `input`, with its own checks", () =>
    Effect.gen(function*() {
      const Amount = Schema.FiniteFromString.check(Schema.isGreaterThan(0))
      const heard: Array<number> = []
      const pay = Agent.make("pay", {
        input: Amount,
        prompt: (amount) => {
          heard.push(amount)
          return "pay"
        }
      })
      const desk = Agent.make("desk", {
        tools: [pay.pipe(Agent.asTool("pay", { description }))],
        defaults: { onError: Recovery.standard }
      })
      yield* desk.run("go").pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("pay", { input: "-1" }),
        ScriptedModel.call("pay", { input: "5" }),
        ScriptedModel.text("paid"),
        ScriptedModel.text("done")
      ])))
      assert.deepStrictEqual(heard, [5])
    }))

  it("needs both schemas if its agent declares none", () => {
    const plain = Agent.fromFunction("plain", (text: string) => Effect.succeed(text))
    const untyped = Agent.asTool as (
      name: string,
      options: object
    ) => (agent: Agent.Agent<string, string>) => unknown
    assert.throws(() => untyped("ask", { description })(plain), ConfigurationError.ConfigurationError, "parameters")
    assert.throws(() => untyped("ask", { description, parameters: Schema.String })(plain), "success")
    assert.throws(() => untyped("ask", { description, success: Schema.String })(plain), "parameters")
  })
})

/** The model's results of failed calls. */
const told = Effect.gen(function*() {
  const { lastRequest } = yield* ScriptedModel.ScriptedModel
  const [result] = lastResults((yield* lastRequest).prompt)
  return result?.result as { readonly code: string; readonly message_for_model: string; readonly severity?: string }
})

describe("an agent that is a tool, and fails", () => {
  const schemas = { description, parameters: Schema.Struct({}), success: Schema.Unknown, effects: "read" } as const
  const asked = (agent: Agent.Agent<{}, unknown, unknown>) =>
    agent.pipe(Agent.asTool("ask", schemas as never), Tool.onError(Recovery.escalate("ExecutionError") as never))
  const failing = <E>(error: E) => Agent.fromFunction("judge", (_: {}): Effect.Effect<unknown, E> => Effect.fail(error))

  it.effect("reports an escalation's reason to the outer model, and no other error", () =>
    Effect.gen(function*() {
      const reportOf = (agent: Agent.Agent<{}, unknown, unknown>) =>
        Effect.andThen(
          Agent.make("desk", {
            tools: [asked(agent)],
            defaults: { onError: Recovery.standard }
          } as never).run("go") as Effect.Effect<unknown, never>,
          told
        ).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("ask", {}), ScriptedModel.text("done")])))
      const escalated = yield* reportOf(
        failing(new ToolError.Escalated({ agent: "judge", reason: "A person decides", severity: "high" }))
      )
      assert.deepInclude(escalated, { code: "escalated", message_for_model: "A person decides", severity: "high" })
      const other = yield* reportOf(failing({ _tag: "Other", reason: "A person decides", severity: "high" }))
      assert.notInclude(JSON.stringify(other), "A person decides")
      assert.notInclude(JSON.stringify(other), "high")
    }))

  it.effect("ends its call behind a pause, and not the run around it", () =>
    Effect.gen(function*() {
      let looks = 0
      const look = Tool.make("look", {
        effects: "read",
        needsApproval: true,
        execute: () => Effect.sync(() => void looks++)
      })
      const agent = Agent.make("a", { ...standard, instructions: "a", input: Schema.Struct({}), tools: [look] }).pipe(
        Agent.andThen(failing("closed") as never)
      )
      const desk = boss([asked(agent as never)]) as never as Waits
      const turns = { boss: [call("ask", {}), text("done")], a: [call("look", {}), text("seen")] } as const
      const paused = yield* desk.start({}).pipe(Effect.provide(models(turns)))
      if (paused._tag !== "Paused") return assert.fail("it waits")
      const [ended, error] = yield* desk.resume(paused.snapshot, paused.pending.map((one) => Approval.approve(one)))
        .pipe(
          Effect.zip(told),
          Effect.provide(models(turns))
        )
      assert.deepInclude(ended, { _tag: "Completed", output: "done" })
      assert.deepInclude(error, { code: "execution_error" })
      assert.strictEqual(looks, 1)
    }).pipe(Effect.provide(key)))
})

describe("an agent that is a tool, and waits", () => {
  const ask = call("a", {}, { id: "a" })
  const paused = (outcome: Approval.Outcome<unknown>): Approval.Paused => {
    assert.strictEqual(outcome._tag, "Paused")
    return outcome as Approval.Paused
  }
  const withKey = (agent: Waits, own: string) =>
    agent.pipe(Agent.provide(Approval.layerKey(Redacted.make(own.repeat(32)))))

  it.effect("is not resumed by another tool of its name", () =>
    Effect.gen(function*() {
      const log: Log = []
      const agent = (one: Tool.Any) => boss([one]) as never as Waits
      const { pending, snapshot } = paused(yield* agent(tool(waits(log, undefined), "a")).start({}))
      const none = Tool.make("a", { ...described, execute: () => Effect.succeed("x") })
      const refused = yield* Effect.flip(
        agent(none as never).resume(snapshot, pending.map((one) => Approval.approve(one)))
      )
      assert.deepInclude(refused, { _tag: "SnapshotRefused", reason: "tools_changed" })
      assert.deepStrictEqual(log, ["book"])
    }).pipe(Effect.provide([key, models({ boss: [ask, text("done")] })])))

  it.effect("is checked only if its own decision is present", () =>
    Effect.gen(function*() {
      const log: Log = []
      const agent = (own: string) =>
        boss([
          tool(withKey(waits(log, undefined) as never, own), "a"),
          tool(waits(log, undefined, "b"), "o")
        ]) as never as Waits
      const { pending, snapshot } = paused(yield* agent("a").start({}))
      const decided = (id: string) =>
        pending.filter(({ callId }) => callId === `${id}/p`).map((one) => Approval.approve(one))
      const refused = yield* Effect.flip(agent("b").resume(snapshot, decided("a")))
      assert.deepInclude(refused, { _tag: "SnapshotRefused", agent: "a", reason: "tampered" })
      const { pending: left } = paused(yield* agent("b").resume(snapshot, decided("o")))
      assert.deepStrictEqual(left.map(({ callId }) => callId), ["a/p"])
      assert.deepStrictEqual(log, ["book", "book", "pay"])
    }).pipe(Effect.provide([
      key,
      models({
        boss: [
          ScriptedModel.calls([{ id: "a", name: "a", params: {} }, { id: "o", name: "o", params: {} }]),
          text("done")
        ]
      })
    ])))
})

describe("a waiting agent as a tool, called without a way to resume", () => {
  const hand = (agent: unknown) =>
    Effect.provideService(
      tool(agent, "a").call,
      ToolCall.ToolCall,
      ToolCall.make({ id: "x", arguments: {} })
    )

  it.effect("is denied and compensated at once, by hand outside of a run", () =>
    Effect.gen(function*() {
      const log: Log = []
      const error = yield* Effect.flip(hand(waits(log, {})) as Effect.Effect<unknown, { readonly _tag: string }>)
      assert.strictEqual(error._tag, "NotApproved")
      assert.deepStrictEqual(log, ["book", "unbook"])
    }).pipe(Effect.provide([key, models()])))

  it.effect("is denied by hand within a run, its question withdrawn first", () =>
    Effect.gen(function*() {
      const log: Log = []
      const off = AgentEvent.listen((event) =>
        Effect.sync(() => event._tag === "ToolResult" && event.callId === "p" && log.push(`pay ${event.code}`))
      )
      const byHand = Agent.fromFunction("by hand", (_: string) =>
        Effect.andThen(
          Effect.exit(hand(waits(log, {})) as Effect.Effect<unknown>),
          Effect.sync(() => log.push("continues"))
        ))
      yield* byHand.run("x").pipe(Effect.provide([off, key, models()]))
      assert.deepStrictEqual(log, ["book", "pay approval_required", "continues", "unbook"])
    }))

  it.effect("is denied within a tool, withdrawn first, and compensated at the end", () =>
    Effect.gen(function*() {
      const log: Log = []
      const Hand = Tool.make("hand", {
        success: Schema.Unknown,
        effects: "read",
        execute: () =>
          Effect.andThen(
            Effect.exit(hand(waits(log, {})) as Effect.Effect<unknown>),
            Effect.sync(() => log.push("hand continues"))
          )
      })
      const off = AgentEvent.listen((event) =>
        Effect.sync(() => event._tag === "ToolResult" && event.callId === "p" && log.push(`pay ${event.code}`))
      )
      const agent = boss([Hand]) as never as Waits
      yield* agent.run({}).pipe(
        Effect.provide([off, key, models({ boss: [call("hand", {}, { id: "hand" }), text("done")] })])
      )
      assert.deepStrictEqual(log, ["book", "pay approval_required", "hand continues", "unbook"])
    }))
})
