import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  Agent,
  AgentEvent,
  Approval,
  ConfigurationError,
  Policy,
  Recovery,
  RunRecord,
  Tool,
  ToolCall
} from "@recourse/core"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

const charges: Array<string> = []

const Charge = Tool.make("charge", {
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.Struct({ charged: Schema.String }),
  effects: "write",
  execute: ({ order }) =>
    Effect.suspend(() => {
      charges.push(order)
      return order === "bad" ? Effect.fail(new Error("hunter2")) : Effect.succeed({ charged: order })
    })
})

const call = (name: string, args: unknown) => ({ id: "call_1", name, arguments: args })

describe("an agent without a model", () => {
  it.effect("answers a call in a model's form, and the result for programs", () =>
    Effect.gen(function*() {
      charges.length = 0
      const tags: Array<string> = []
      const agent = Agent.forCalls("tools", { tools: [Charge], defaults: { onError: Recovery.standard } })
      const hear = AgentEvent.listen((event) => Effect.sync(() => tags.push(event._tag)))
      const done = yield* agent.run(call("charge", { order: "A-1" })).pipe(Effect.provide(hear))
      assert.deepStrictEqual(done, {
        id: "call_1",
        name: "charge",
        isFailure: false,
        result: { charged: "A-1" },
        modelOutput: undefined,
        untrusted: [],
        structured: { charged: "A-1" }
      })
      assert.deepStrictEqual(tags, [
        "RunStarted",
        "ToolCallStarted",
        "ToolAttempt",
        "ToolAttemptSucceeded",
        "ToolResult",
        "RunFinished"
      ])
      const wrong = yield* agent.run(call("charge", `{"order": 1}`))
      assert.isTrue(wrong.isFailure)
      assert.strictEqual((wrong.result as { code: string }).code, "invalid_arguments")
      assert.isFalse("structured" in wrong)
      const nothing = yield* agent.run(call("nothing", {}))
      assert.strictEqual((nothing.result as { code: string }).code, "tool_not_found")
      assert.deepStrictEqual(charges, ["A-1"])
    }))

  it("refuses two tools of one name, and rules about missing tools", () => {
    const problemOf = (make: () => unknown): unknown => {
      try {
        make()
      } catch (error) {
        return error instanceof ConfigurationError.ConfigurationError ? `${error.subject}: ${error.problem}` : error
      }
      return undefined
    }
    assert.strictEqual(
      problemOf(() => Agent.forCalls("tools", { tools: [Charge, Charge] })),
      "Agent \"tools\": there are two tools named \"charge\""
    )
    assert.match(
      String(problemOf(() => Agent.forCalls("tools", { tools: [Charge], onTainted: { allow: ["chrage"] } } as never))),
      /Agent "tools": onTainted.allow names "chrage", which is none of its tools/
    )
  })

  it.effect("an uncaught error ends the run, whose record has the model's text", () =>
    Effect.gen(function*() {
      const agent = Agent.forCalls("tools", { tools: [Charge] })
      const exit = yield* Effect.exit(agent.run(call("charge", { order: "bad" })))
      assert.isTrue(Exit.isFailure(exit))
      const record = Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined
      const last = JSON.stringify(record?.transcript.content.at(-1))
      assert.include(last, "outcome_unknown")
      assert.notInclude(last, "hunter2")
    }))

  it.effect("a call that waits is resumed, once", () =>
    Effect.gen(function*() {
      charges.length = 0
      const agent = Agent.forCalls("tools", {
        tools: [Charge],
        policies: [
          Policy.make(
            "writes",
            ({ effects }) => effects === "write" ? Policy.requireApproval("It writes") : Policy.allow,
            { mayRequestApproval: true }
          )
        ]
      })
      const paused = yield* agent.start(call("charge", { order: "A-1" }))
      if (paused._tag !== "Paused") return assert.fail("it waits")
      assert.deepStrictEqual(charges, [])
      const decisions = paused.pending.map((pending) => Approval.approve(pending))
      const resumed = yield* agent.resume(JSON.parse(JSON.stringify(paused.snapshot)), decisions)
      assert.deepStrictEqual(resumed._tag === "Completed" && resumed.output.structured, { charged: "A-1" })
      const again = yield* Effect.flip(agent.resume(paused.snapshot, decisions))
      assert.strictEqual(again._tag, "SnapshotRefused")
      assert.deepStrictEqual(charges, ["A-1"])
    }).pipe(Effect.provide(key)))

  it.effect("results marked, wrapped or cut for a model are whole for programs", () =>
    Effect.gen(function*() {
      const words = { words: "x".repeat(100) }
      const Down = Tool.make("down", {
        success: Schema.Struct({ words: Schema.String }),
        trust: "untrusted",
        effects: "read",
        resultLimit: 20,
        execute: () => Effect.fail(new Error("down"))
      }).pipe(Tool.onError((call) =>
        call.pipe(Recovery.fallback("ExecutionError", Effect.succeed(words), { degraded: { source: "cache" } }))
      ))
      const answer = yield* Agent.forCalls("tools", { tools: [Down] }).run(call("down", {}))
      assert.deepStrictEqual(answer.structured, words)
      assert.deepStrictEqual(answer.untrusted, ["down"])
      assert.deepStrictEqual(answer.degraded, { source: "cache" })
      assert.notInclude(JSON.stringify(answer.result), words.words)
    }).pipe(Effect.provide(key)))

  it.effect("a pending task has no result yet for programs", () =>
    Effect.gen(function*() {
      const Render = Tool.make("render", {
        effects: "write",
        success: Schema.String,
        execute: () => ToolCall.pending("job-7")
      })
      const answer = yield* Agent.forCalls("tools", { tools: [Render], defaults: { onError: Recovery.standard } }).run(
        call("render", {})
      )
      assert.deepInclude(answer.result, { status: "pending", task_id: "job-7" })
      assert.isFalse("structured" in answer)
    }))

  it.effect("the record has the call with its result; failures can resume", () =>
    Effect.gen(function*() {
      const agent = Agent.forCalls("tools", { tools: [Charge] })
      const { transcript } = yield* agent.report(call("charge", { order: "A-2" }))
      assert.deepStrictEqual(
        transcript.content.flatMap(({ content, role }) =>
          typeof content === "string" ? [] : content.map(({ type }) => `${role} ${type}`)
        ),
        ["assistant tool-call", "tool tool-result"]
      )
      const exit = yield* Effect.exit(agent.run(call("charge", { order: "bad" })))
      const record = Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined
      assert.isDefined(record?.resumable)
    }))

  it.effect("a budget holds for one call", () =>
    Effect.gen(function*() {
      const Slow = Tool.make("slow", { effects: "read", execute: () => Effect.never })
      const agent = Agent.forCalls("tools", { tools: [Slow], budget: { duration: "1 second" } })
      const fiber = yield* Effect.forkChild(Effect.flip(agent.run(call("slow", {}))), { startImmediately: true })
      for (let i = 0; i < 5; i++) yield* TestClock.adjust("500 millis")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "BudgetExceeded")
    }))
})
