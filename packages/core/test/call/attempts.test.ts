/** The outcome of a call's attempt: in the record of its run, in events, in spans, in its error. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel, TestTracer } from "@recourse/testing"
import { Cause, Duration, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  Agent,
  type AgentEvent,
  Approval,
  ErrorProjection,
  IdempotencyLedger,
  Recovery,
  Tool,
  ToolCall,
  ToolInterceptor
} from "@recourse/core"
import { by, collect, Down } from "../support/kit.ts"

class Closed extends Schema.TaggedError<Closed>()(
  "Closed",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

const { call, calls, text } = ScriptedModel

type Executor = () => Effect.Effect<string, unknown, ToolCall.ToolCall>

const toolOf = (effects: Tool.Effects | undefined, execute: Executor, options?: object): Tool.Any =>
  Tool.make("act", { success: Schema.String, failure: Closed, effects, execute, ...options } as never) as never

type AnyAgent = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

const agentOf = (tool: Tool.Any, options?: object): AnyAgent =>
  Agent.make("a", { tools: [tool], ...options } as never) as never

const ofAttempts = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.filter(({ _tag }) => _tag.startsWith("ToolAttempt"))

/** The record, the events of attempts and the spans of a run whose model makes one call. */
const played = (agent: AnyAgent) =>
  Effect.gen(function*() {
    const log = collect()
    const { report, spans } = yield* Drive.drive(
      Effect.zipWith(
        agent.report("go"),
        Effect.flatMap(TestTracer.TestTracer, ({ spans }) => spans),
        (report, spans) => ({ report, spans })
      ).pipe(
        Effect.provide([log.layer, TestTracer.layer, ScriptedModel.layer([call("act", {}, { id: "c" }), text("ok")])])
      )
    )
    return { ...report, events: ofAttempts(log.events), spans }
  })

type Outcome = "success" | "failure" | "unknown" | "interrupted"

const andDefect = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchCause(effect, (cause) => Effect.failCause(Cause.combine(cause, Cause.die("broken"))))

const ways: Readonly<
  Record<string, readonly [execute: Executor, reads: Outcome, writes: Outcome, undeclared: Outcome, error?: string]>
> = {
  "an answer": [() => Effect.succeed("done"), "success", "success", "success"],
  "a task that continues after its call": [() => ToolCall.pending("job-1"), "success", "success", "success"],
  "a task that continues, and a defect behind it": [
    () => andDefect(ToolCall.pending("job-1")),
    "success",
    "success",
    "success",
    "Defect"
  ],
  "an error": [() => Effect.fail(new Down()), "failure", "unknown", "failure", "ExecutionError"],
  "an error that says that nothing was done": [
    () => Effect.fail(new Closed()),
    "failure",
    "failure",
    "failure",
    "ExecutionError"
  ],
  "a defect": [() => Effect.die("broken"), "failure", "unknown", "unknown", "Defect"],
  "an interruption": [() => Effect.interrupt, "interrupted", "interrupted", "interrupted", "Interrupted"],
  "an interruption, and a defect behind it": [
    () => andDefect(Effect.interrupt),
    "interrupted",
    "interrupted",
    "interrupted",
    "Defect"
  ]
}

describe("an attempt that came to", () => {
  for (const [way, [execute, reads, writes, undeclared, error]] of Object.entries(ways)) {
    for (
      const [effects, outcome] of [["read", reads], ["idempotent", reads], ["write", writes], [
        undefined,
        undeclared
      ]] as const
    ) {
      it.effect(`${way} gives ${outcome} for ${effects ?? "a tool without declared effects"}`, () =>
        Effect.gen(function*() {
          const { events, executed } = yield* played(agentOf(toolOf(effects, execute)))
          assert.deepStrictEqual(executed, [{ tool: "act", callId: "c", attempt: 1, arguments: "{}", outcome }])
          const reason = way === "an error" ? "Down" : way.startsWith("an error that says") ? "Closed" : undefined
          const expected = error === "ExecutionError" && effects === "write" && outcome === "unknown"
            ? "OutcomeUnknown"
            : error
          assert.deepStrictEqual(
            events.map((event) => [
              event._tag,
              "error" in event ? event.error : undefined,
              ...("reason" in event ? [event.reason] : [])
            ]),
            [
              ["ToolAttempt", undefined],
              expected === undefined
                ? ["ToolAttemptSucceeded", undefined]
                : ["ToolAttemptFailed", expected, ...(reason === undefined ? [] : [reason])]
            ]
          )
        }))
    }
  }
})

describe("a write that says itself how its call ended", () => {
  const inner = (effects: Tool.Effects, execute: Executor): Executor => () =>
    Effect.flatMap(ToolCall.ToolCall, (current) =>
      Effect.provideService(
        Tool.make("inner", { success: Schema.String, failure: Closed, effects, execute } as never).call as never,
        ToolCall.ToolCall,
        { ...current, arguments: {} }
      ))
  const escalates: Executor = () => ToolCall.escalate({ reason: "ask the user" })
  const behind = (...calls: ReadonlyArray<Executor>): Executor => () =>
    Effect.andThen(Effect.forEach(calls, (call) => Effect.option(call())), escalates())
  const lost = inner("write", () => Effect.fail(new Down()))
  const done = inner("write", () => Effect.succeed("done"))
  const undone = inner("write", () => Effect.fail(new Closed()))
  const cases: Readonly<Record<string, readonly [execute: Executor, outcome: Outcome]>> = {
    "did nothing": [escalates, "failure"],
    "did nothing behind a read that failed": [behind(inner("read", () => Effect.fail(new Down()))), "failure"],
    "did nothing behind a write that says that it did nothing": [behind(undone), "failure"],
    "did nothing itself behind a write that was done": [behind(done), "failure"],
    "does not know what a write within it did": [behind(lost), "unknown"],
    "does not know it, whatever else was done": [behind(done, lost, undone), "unknown"],
    // An escalation of an inner call is not this one's own.
    "passes on what a call within it says": [inner("read", escalates), "unknown"],
    "passes on that a call within it is unknown": [lost, "unknown"],
    "passes on that a call within it did nothing": [undone, "unknown"]
  }
  for (const [name, [execute, outcome]] of Object.entries(cases)) {
    it.effect(`${name}: ${outcome}`, () =>
      Effect.gen(function*() {
        const { executed } = yield* played(
          agentOf(toolOf("write", execute), { defaults: { onError: Recovery.keepGoing } })
        )
        assert.deepStrictEqual(executed.flatMap(({ outcome, tool }) => tool === "act" ? [outcome] : []), [outcome])
      }))
  }
})

describe("attempts after the first", () => {
  it.effect("say how long after the last failure they began", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = toolOf(
        "read",
        () =>
          Effect.delay(Effect.suspend(() => ++runs < 3 ? Effect.fail(new Down()) : Effect.succeed("done")), "1 second")
      )
      const retry = Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.spaced("2 seconds") }))
      const retried = tool.pipe(retry as never) as Tool.Any
      yield* TestClock.adjust("1 hour")
      const { events, spans } = yield* played(agentOf(retried))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolAttempt" ? [[event.attempt, event.delay]] : []),
        [[1, 0], [2, 2000], [3, 2000]]
      )
      const span = spans.find(({ name }) => name === "execute_tool act")
      assert.deepStrictEqual(span?.events.map(([name, , attributes]) => [name, attributes]), [
        ["recourse.attempt_failed", { attempt: 1, "error.type": "Down" }],
        ["recourse.attempt", { attempt: 2, "recourse.delay_ms": 2000 }],
        ["recourse.attempt_failed", { attempt: 2, "error.type": "Down" }],
        ["recourse.attempt", { attempt: 3, "recourse.delay_ms": 2000 }]
      ])
    }))
})

describe("an interceptor", () => {
  it.effect("wraps each execution, knows it, and may answer or fail instead", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const runs: Array<number> = []
      const parameters = Schema.Struct({ n: Schema.Number })
      const Get = Tool.make("get", {
        parameters,
        success: Schema.Number,
        failure: Closed,
        effects: "write",
        idempotency: true,
        timeout: "5 seconds",
        execute: ({ n }) => Effect.sync(() => (runs.push(n), n))
      }).pipe(Tool.onError((call) => Effect.retry(call, { times: 1 })))
      const answer = yield* Get.call.pipe(
        by({ n: 7 }),
        Effect.provideService(ToolInterceptor.ToolInterceptor, (about, execute) => {
          seen.push(about)
          return about.attempt === 1 ? Effect.fail(new Closed()) : Effect.map(execute, (n) => Number(n) + 1)
        }),
        Effect.provide(IdempotencyLedger.layerMemory)
      )
      assert.deepStrictEqual([answer, runs], [8, [7]])
      const about = {
        tool: "get",
        callId: "c1",
        effects: "write",
        passesKey: true,
        timeout: Duration.seconds(5),
        params: { n: 7 },
        failure: Closed,
        success: Schema.Number
      }
      assert.deepStrictEqual(seen, [{ ...about, attempt: 1 }, { ...about, attempt: 2 }])
    }))
})

describe("an unknown outcome", () => {
  it.effect("says how long after the beginning of the call it became unknown", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 hour")
      const slow = Tool.make("slow", {
        success: Schema.String,
        effects: "write",
        execute: () => Effect.delay(Effect.fail(new Down()), "3 seconds")
      })
      const error = yield* Drive.drive(Effect.flip(slow.call.pipe(by({}))))
      assert.strictEqual(error._tag === "OutcomeUnknown" && Duration.toMillis(error.after), 3000)
    }))
})

describe("a call of an agent that is a tool", () => {
  const Task = Schema.Struct({ task: Schema.String })
  const asks = { description: "Asks", parameters: Task, success: Schema.String } as const
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.succeed("paid")
  })
  const Look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("seen") })
  /** Three agents, each the tool of the next, whose calls have the same ids; optionally of the same name. */
  const chain = (names: readonly [string, string]) => {
    const inner = Agent.make("inner", { instructions: "inner", input: Task, tools: [Pay] })
    const middle = Agent.make("middle", {
      instructions: "middle",
      input: Task,
      tools: [inner.pipe(Agent.asTool(names[1], asks))]
    })
    return Agent.make("outer", { instructions: "outer", tools: [middle.pipe(Agent.asTool(names[0], asks)), Look] })
  }
  const model = (names: readonly [string, string]) =>
    ScriptedModel.layer((request, index) => {
      const first = request.prompt.content[0]
      const turns = first?.role !== "system" ? [text("?")] as const : first.content === "inner"
        ? [call("pay", {}, { id: "c" }), text("inner done")] as const
        : first.content === "middle"
        ? [call(names[1], { task: "t" }, { id: "c" }), text("middle done")] as const
        : [
          calls([{ name: names[0], params: { task: "t" }, id: "c" }, { name: "look", params: {}, id: "l" }]),
          text("done")
        ] as const
      return ScriptedModel.steps(turns)(request, index)
    })

  for (const names of [["ask", "ask_on"], ["ask", "ask"]] as const) {
    it.effect(`is one execution over an inner pause; same ids, tools ${names.join(" and ")}`, () =>
      Effect.gen(function*() {
        const log = collect()
        const layer = Layer.mergeAll(
          Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef")),
          model(names),
          log.layer
        )
        const agent = chain(names)
        const paused = yield* agent.start("go").pipe(Effect.provide(layer))
        if (paused._tag !== "Paused") return assert.fail(paused._tag)
        const before = ofAttempts(log.events.splice(0)).map((event) => `${event._tag} ${event.path.join("/")}`)
        assert.deepStrictEqual(before.toSorted(), [
          "ToolAttempt outer",
          "ToolAttempt outer",
          "ToolAttempt outer/middle",
          "ToolAttemptSucceeded outer"
        ])
        let executed: ReadonlyArray<object> = []
        yield* agent.proceed(
          {
            snapshot: JSON.parse(JSON.stringify(paused.snapshot)),
            decisions: [Approval.approve(paused.pending[0]!)]
          },
          { streaming: false, onRecord: (record) => (executed = record().executed) }
        ).pipe(Effect.provide(layer))
        const entry = { attempt: 1, callId: "c", outcome: "success" }
        const args = "{\"task\":\"t\"}"
        const ids = executed.map((one) => (one as { readonly agentRunId?: string }).agentRunId)
        assert.deepStrictEqual(
          executed.map((one) => ({ ...one, agentRunId: undefined })).toSorted((a, b) =>
            JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
          ) as unknown,
          [
            { tool: names[0], ...entry, arguments: args, agentRunId: undefined },
            { tool: "look", attempt: 1, callId: "l", arguments: "{}", outcome: "success", agentRunId: undefined },
            { tool: names[1], ...entry, arguments: args, agentRunId: undefined },
            { tool: "pay", ...entry, arguments: "{}", agentRunId: undefined }
          ].toSorted((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
        )
        assert.strictEqual(ids.filter((id) => id === undefined).length, 2)
        assert.strictEqual(new Set(ids).size, 3)
        assert.deepStrictEqual(
          ofAttempts(log.events).map((event) => `${event._tag} ${event.path.join("/")}`),
          [
            "ToolAttempt outer/middle/inner",
            "ToolAttemptSucceeded outer/middle/inner",
            "ToolAttemptSucceeded outer/middle",
            "ToolAttemptSucceeded outer"
          ]
        )
      }))
  }
})
