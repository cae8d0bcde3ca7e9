/** Repetition of a call, or of a program, in which an agent has written: the agent does not write a second time. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Agent, ErrorProjection, History, IdempotencyLedger, Recovery, Tool } from "@recourse/core"

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done", transient: false })
) {}

const Payment = Schema.Struct({ order: Schema.String })

type AnyAgent = Agent.Agent<string, string, unknown, never>
type AnyTool = Tool.Any

interface Inner {
  readonly paid: Array<string>
  readonly agent: AnyAgent
}

/** An agent that pays, and whose model then fails once. */
const innerOf = (
  options: { readonly tool?: object; readonly agent?: object; readonly declines?: boolean } = {}
): Inner => {
  const paid: Array<string> = []
  let failures = 0
  const pay = Tool.make("pay", {
    parameters: Payment,
    success: Schema.String,
    failure: Declined,
    effects: "write",
    execute: ({ order }: typeof Payment.Type) =>
      options.declines === true && failures === 0
        ? Effect.fail(new Declined())
        : Effect.sync(() => (paid.push(order), "paid")),
    ...options.tool
  } as never)
  const agent = Agent.make("inner", {
    tools: [pay],
    defaults: { onError: Recovery.keepGoing },
    ...options.agent
  } as never).pipe(Agent.provide(ScriptedModel.layer(({ prompt }) =>
    prompt.content.some(({ role }) => role === "tool")
      ? failures++ === 0 ? ScriptedModel.failure("InvalidRequestError") : ScriptedModel.text("all paid")
      : ScriptedModel.call("pay", { order: "7" })
  ))) as unknown as AnyAgent
  return { agent, paid }
}

const retried = (tool: AnyTool): AnyTool =>
  tool.pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever }) as never) as never) as AnyTool
const again = (tool: AnyTool): AnyTool =>
  tool.pipe(
    Tool.onError(((call: Effect.Effect<unknown>) => Effect.retry(call, { times: 2 })) as never) as never
  ) as AnyTool

const asTool = ({ agent }: Inner, effects?: Tool.Effects): AnyTool =>
  agent.pipe(
    Agent.asTool("do", {
      description: "Does it",
      ...(effects === undefined ? {} : { effects })
    } as never) as never
  ) as AnyTool

const byHand = (run: () => Effect.Effect<string, unknown>, options: object = {}): AnyTool =>
  Tool.make(
    "do",
    { parameters: Schema.Struct({ input: Schema.String }), success: Schema.String, execute: run, ...options } as never
  ) as unknown as AnyTool

/** Ways in which a call that contains the agent's run is repeated. */
const ways: Readonly<Record<string, (inner: Inner) => AnyTool>> = {
  "asTool without effects": (inner) => retried(asTool(inner)),
  "asTool that says read": (inner) => retried(asTool(inner, "read")),
  "asTool that says idempotent": (inner) => retried(asTool(inner, "idempotent")),
  "asTool under Effect.retry": (inner) => again(asTool(inner, "read")),
  "an executor that runs it": (inner) => retried(byHand(() => inner.agent.run("x"))),
  "an executor that runs it and says read": (inner) => retried(byHand(() => inner.agent.run("x"), { effects: "read" })),
  "an executor that passes a key on": (inner) =>
    retried(byHand(() => inner.agent.run("x"), { effects: "write", idempotency: true })),
  "an executor with Effect.retry": (inner) => byHand(() => Effect.retry(inner.agent.run("x"), { times: 2 })),
  "an executor whose agent is run by a function": (inner) =>
    retried(byHand(() => Agent.fromFunction("between", () => inner.agent.run("x")).run("y"))),
  "a fallback that runs it": (inner) =>
    byHand(() => Effect.fail("down"), { effects: "read" }).pipe(
      Tool.onError(
        ((call: Effect.Effect<string, never>) =>
          call.pipe(
            Recovery.fallback("ExecutionError", inner.agent.run("x")) as never,
            (call) => Effect.retry(call as Effect.Effect<string>, { times: 2 })
          )) as never
      ) as never
    ) as AnyTool
}

const outerOf = (tool: AnyTool, options: object = {}): AnyAgent =>
  Agent.make("outer", { tools: [tool], defaults: { onError: Recovery.keepGoing }, ...options } as never).pipe(
    Agent.provide(
      ScriptedModel.layer(({ prompt }) =>
        prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.text("end")
          : ScriptedModel.call("do", { input: "x" }, { id: "c" })
      )
    )
  ) as unknown as AnyAgent

const stateOf = (agent: AnyAgent) =>
  Effect.map(
    agent.report("go").pipe(Effect.provide(IdempotencyLedger.layerMemory)),
    ({ transcript }) => History.claims(transcript).map(({ state }) => state)
  )

describe("a repeated call with an agent that has paid", () => {
  for (const [way, make] of Object.entries(ways)) {
    it.effect(`pays once and reports unknown: ${way}`, () =>
      Effect.gen(function*() {
        const inner = innerOf()
        const states = yield* stateOf(outerOf(make(inner)))
        assert.deepStrictEqual(inner.paid, ["7"])
        assert.deepStrictEqual(states, ["unknown"])
      }))

    it.effect(`is repeated if the agent's write was not done: ${way}`, () =>
      Effect.gen(function*() {
        const inner = innerOf({ declines: true })
        const states = yield* stateOf(outerOf(make(inner)))
        assert.isAtMost(inner.paid.length, 1)
        if (inner.paid.length === 1) assert.deepStrictEqual(states, ["done"])
      }))
  }

  it.effect("is repeated after the agent compensated its payment", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const inner = innerOf({
        tool: { compensate: () => Effect.sync(() => void log.push("compensated")) },
        agent: { compensation: {} }
      })
      const states = yield* stateOf(outerOf(retried(asTool(inner))))
      assert.deepStrictEqual(inner.paid, ["7", "7"])
      assert.deepStrictEqual(log, ["compensated"])
      assert.deepStrictEqual(states, ["done"])
    }))
})

describe("Effect.retry around an agent within an agent", () => {
  for (const idempotency of [undefined, true]) {
    it.effect(`pays once and fails as the first run, idempotency ${idempotency}`, () =>
      Effect.gen(function*() {
        const inner = innerOf({ tool: idempotency === undefined ? {} : { idempotency } })
        const outer = Agent.fromFunction("outer", (text: string) => Effect.retry(inner.agent.run(text), { times: 3 }))
        const exit = yield* Effect.exit(outer.run("x").pipe(Effect.provide(IdempotencyLedger.layerMemory)))
        assert.strictEqual(exit._tag, "Failure")
        assert.deepStrictEqual(inner.paid, ["7"])
      }))
  }

  it.effect("pays once if the program makes the agent again for each try", () =>
    Effect.gen(function*() {
      const made: Array<Inner> = []
      const run = Effect.suspend(() => {
        const inner = innerOf()
        made.push(inner)
        return inner.agent.run("x")
      })
      const outer = Agent.fromFunction("outer", () => Effect.retry(run, { times: 2 }))
      const exit = yield* Effect.exit(outer.run("x"))
      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual(made.flatMap(({ paid }) => paid), ["7"])
    }))

  it.effect("runs the agent again for another input", () =>
    Effect.gen(function*() {
      const inner = innerOf()
      const outer = Agent.fromFunction("outer", () =>
        Effect.catch(inner.agent.run("first"), () => inner.agent.run("second")))
      assert.strictEqual(yield* outer.run("x"), "all paid")
      assert.deepStrictEqual(inner.paid, ["7", "7"])
    }))

  it.effect("runs the agent again after a run that only read", () =>
    Effect.gen(function*() {
      let failures = 0
      const agent = Agent.make("reader", {}).pipe(
        Agent.provide(ScriptedModel.layer(() =>
          failures++ === 0 ? ScriptedModel.failure("InvalidRequestError") : ScriptedModel.text("read")
        ))
      )
      const outer = Agent.fromFunction("outer", (text: string) =>
        Effect.retry(agent.run(text), { times: 1 }))
      assert.strictEqual(yield* outer.run("x"), "read")
    }))
})

describe("an agent that was interrupted after it paid", () => {
  it.effect("pays once if the program runs it again", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const pay = Tool.make("pay", {
        parameters: Payment,
        success: Schema.String,
        effects: "write",
        execute: ({ order }) => Effect.sync(() => (paid.push(order), "paid"))
      })
      const inner = Agent.make("inner", { tools: [pay], defaults: { onError: Recovery.keepGoing } }).pipe(
        Agent.provide(ScriptedModel.layer(({ prompt }) =>
          prompt.content.some(({ role }) => role === "tool")
            ? ScriptedModel.hang
            : ScriptedModel.call("pay", { order: "7" })
        ))
      )
      const outer = Agent.fromFunction("outer", (text: string) =>
        inner.run(text).pipe(Effect.timeout("1 second"), Effect.retry({ times: 2 })))
      const fiber = yield* Effect.forkChild(Effect.exit(outer.run("x")), { startImmediately: true })
      for (let n = 0; n < 40; n++) {
        yield* TestClock.adjust("100 millis")
      }
      assert.isDefined(fiber.pollUnsafe())
      assert.deepStrictEqual(paid, ["7"])
    }))
})
