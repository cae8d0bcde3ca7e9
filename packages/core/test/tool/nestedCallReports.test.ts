/** Audit, events, marks and traces of a call made by a tool: the same as for every call. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Data, DateTime, Effect, Exit, Layer, Option, Redacted, Schema, Tracer } from "effect"
import {
  Agent,
  type AgentEvent,
  Approval,
  Audit,
  ErrorProjection,
  IdempotencyLedger,
  OutputGuard,
  Policy,
  Recovery,
  RetryBudget,
  Tool,
  ToolCall
} from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"

class Down extends Data.TaggedError("Down") {}

class Closed extends Schema.TaggedError<Closed>()(
  "Closed",
  {},
  ErrorProjection.declare({
    code: "upstream_error",
    model: "The bank is closed.",
    user: "Our bank is closed today.",
    outcome: "not_done"
  })
) {}

const { call, text } = ScriptedModel

type Inner = Effect.Effect<unknown, unknown, ToolCall.ToolCall>

/** A tool that does something with other tools' calls. */
const outerOf = (execute: () => Inner, effects: Tool.Effects = "read"): Tool.Any =>
  Tool.make("outer", { success: Schema.Unknown, effects, execute: execute as never }) as never

const write = (execute: () => Effect.Effect<string, unknown>, options?: object): Tool.Any =>
  Tool.make("pay", { success: Schema.String, effects: "write", execute, ...options } as never) as never

const callOf = (tool: Tool.Any): Inner => tool.call as never

type AnyAgent = Agent.Agent<string, string, unknown, never>

const agentOf = (tools: ReadonlyArray<Tool.Any>, options?: object): AnyAgent =>
  Agent.make("lead", { tools, ...options } as never) as never

const script = ScriptedModel.steps([call("outer", {}, { id: "c" }), text("done")])

/** The results of a run whose model calls `outer`. */
const played = (agent: AnyAgent, audited?: (record: Audit.AuditRecord) => Effect.Effect<void>) =>
  Effect.gen(function*() {
    const log = collect()
    const audit: Array<Audit.AuditRecord> = []
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const { exit, results } = yield* Drive.drive(
      Effect.exit(agent.run("go")).pipe(
        Effect.zipWith(
          Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests),
          (exit, requests) => ({ exit, results: requests.flatMap(({ prompt }) => lastResults(prompt)) })
        ),
        Effect.provide(Layer.mergeAll(
          ScriptedModel.layer(script),
          log.layer,
          IdempotencyLedger.layerMemory,
          Audit.layer((record) =>
            Effect.andThen(Effect.sync(() => void audit.push(record)), audited?.(record) ?? Effect.void)
          )
        )),
        Effect.withTracer(tracer)
      )
    )
    return {
      exit,
      results: results.map(({ result }) => result),
      audit: audit.map(({ callId, decision, tool }) => `${decision} ${tool} ${callId}`),
      resultOf: (callId: string) =>
        log.events.filter((event): event is Extract<AgentEvent.AgentEvent, { readonly _tag: "ToolResult" }> =>
          event._tag === "ToolResult" && event.callId === callId
        ),
      events: log.events,
      spans
    }
  })

/** Ways in which a tool ignores the outcome of an inner call. */
const swallowing: Readonly<Record<string, (inner: Inner) => Inner>> = {
  catch: (inner) => Effect.catch(inner, () => Effect.succeed("fine")),
  catchCause: (inner) => Effect.catchCause(inner, () => Effect.succeed("fine")),
  option: (inner) => Effect.as(Effect.option(inner), "fine"),
  "another answer in time": (inner) =>
    Effect.race(Effect.andThen(inner, Effect.never), Effect.delay(Effect.succeed("fine"), 5000)),
  "a failure of its own": (inner) => Effect.catch(inner, () => Effect.fail(new Down()))
}

describe("audits security-relevant calls made by tools in any case", () => {
  const unknown: Readonly<Record<string, Effect.Effect<string, unknown>>> = {
    "an undeclared error": Effect.fail(new Down()),
    "no answer": Effect.never,
    "a defect": Effect.die("broken")
  }
  for (const [way, swallow] of Object.entries(swallowing)) {
    for (const [how, answer] of Object.entries(unknown)) {
      it.effect(`${how} of a write: ${way}`, () =>
        Effect.gen(function*() {
          const pay = write(() => answer)
          const timed = how === "no answer" ? Effect.timeout(callOf(pay), "1 second") : callOf(pay)
          const { audit } = yield* played(
            agentOf([outerOf(() => swallow(how === "a defect" ? Effect.exit(timed) : timed))])
          )
          assert.deepStrictEqual(audit.filter((record) => record.endsWith("/pay_1")), [
            ...(how === "a defect" ? ["defect pay c/pay_1"] : []),
            "outcome_unknown pay c/pay_1"
          ])
        }))
    }

    it.effect(`a key of other arguments: ${way}`, () =>
      Effect.gen(function*() {
        const pay = Tool.make("pay", {
          parameters: Schema.Struct({ to: Schema.String }),
          success: Schema.String,
          effects: "write",
          idempotency: { key: () => "same" },
          execute: ({ to }) => Effect.succeed(to)
        })
        const to = (name: string) =>
          Effect.provideService(pay.call, ToolCall.ToolCall, ToolCall.make({ id: name, arguments: { to: name } }))
        const { audit } = yield* played(
          agentOf([outerOf(() => Effect.andThen(to("Ada") as never, swallow(to("Bob") as never)))])
        )
        assert.deepStrictEqual(audit.filter((record) => record.includes("pay")), ["idempotency_conflict pay c/Bob"])
      }))
  }

  it.effect("audits a retried call once, and not one without effect", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.fail(new Down()))
      const closed = write(() => Effect.fail(new Closed()), { failure: Closed })
      const look = Tool.make("look", { effects: "read", execute: () => Effect.fail(new Down()) }) as Tool.Any
      const again = yield* played(
        agentOf([outerOf(() => Effect.option(Effect.retry(callOf(pay), { times: 2 })))])
      )
      assert.deepStrictEqual(again.audit, ["outcome_unknown pay c/pay_1"])
      const harmless = yield* played(
        agentOf([outerOf(() => Effect.all([Effect.option(callOf(closed)), Effect.option(callOf(look))]))])
      )
      assert.deepStrictEqual(harmless.audit, [])
    }))

  it.effect("ends the run if the audit cannot be written", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.fail(new Down()))
      const { exit, results } = yield* played(
        agentOf([outerOf(() => Effect.catchCause(callOf(pay), () => Effect.succeed("fine")))]),
        () => Effect.die("disk full")
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(results, [])
    }))

  it.effect("as the run ends while it runs", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.never)
      const agent = agentOf([outerOf(() => callOf(pay))], { budget: { duration: "1 second" } })
      const { audit } = yield* played(agent)
      assert.deepStrictEqual(audit, ["outcome_unknown pay c/pay_1", "outcome_unknown outer c"])
    }))
})

describe("events of the outcome of a call made by a tool", () => {
  it.effect("its result as JSON", () =>
    Effect.gen(function*() {
      const when = Tool.make("pay", {
        success: Schema.Struct({ at: Schema.Date }),
        effects: "read",
        execute: () => Effect.succeed({ at: new Date(0) })
      }) as Tool.Any
      const { resultOf } = yield* played(agentOf([outerOf(() => Effect.as(callOf(when), 1))]))
      assert.deepStrictEqual(
        resultOf("c/pay_1").map(({ isFailure, parentCallId, result }) => ({ isFailure, parentCallId, result })),
        [{ isFailure: false, parentCallId: "c", result: { at: "1970-01-01T00:00:00.000Z" } }]
      )
    }))

  it.effect("include its failure with the model's and the user's texts", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.fail(new Closed()), { failure: Closed })
      const { resultOf } = yield* played(agentOf([outerOf(() => Effect.option(callOf(pay)))]))
      const [event] = resultOf("c/pay_1")
      assert.strictEqual(event?.code, "upstream_error")
      assert.strictEqual(event?.userMessage, "Our bank is closed today.")
      const { message_for_model, status } = event?.result as ErrorProjection.ToolFailure
      assert.deepStrictEqual([status, message_for_model], ["error", "The bank is closed."])
    }))

  it.effect("wrap untrusted results, without secrets and blocked content", () =>
    Effect.gen(function*() {
      const page = Tool.make("pay", {
        success: Schema.String,
        effects: "read",
        trust: "untrusted",
        execute: () => Effect.succeed("hello")
      }) as Tool.Any
      const outside = yield* played(agentOf([outerOf(() => callOf(page))]))
      const { content, source } = outside.resultOf("c/pay_1")[0]?.result as { content: unknown; source: string }
      assert.deepStrictEqual([content, source], ["hello", "pay"])

      class Leaky extends Schema.TaggedError<Leaky>()(
        "Leaky",
        { text: Schema.String },
        ErrorProjection.declare({
          model: ({ text }: { readonly text: string }) => text
        })
      ) {}
      const leaks = Tool.make("pay", {
        effects: "read",
        failure: Leaky,
        execute: () => Effect.fail(new Leaky({ text: `use ghp_${"a1B2".repeat(9)}` }))
      }) as Tool.Any
      const hidden = yield* played(agentOf([outerOf(() => Effect.option(callOf(leaks)))]))
      assert.notInclude(JSON.stringify(hidden.resultOf("c/pay_1")), "ghp_")

      const guard = OutputGuard.layer(({ content }) =>
        content === "forbidden" ? Effect.fail(new OutputGuard.UnsafeOutput({ category: "pii" })) : Effect.void
      )
      const secret = Tool.make("pay", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.succeed("forbidden")
      }) as Tool.Any
      const guarded = yield* Effect.provide(played(agentOf([outerOf(() => Effect.as(callOf(secret), "ok"))])), guard)
      assert.strictEqual(guarded.resultOf("c/pay_1")[0]?.code, "unsafe_output")
      assert.deepStrictEqual(guarded.results, ["ok"])
    }))

  it.effect("include a started task", () =>
    Effect.gen(function*() {
      const job = Tool.make("pay", {
        success: Schema.String,
        effects: "read",
        execute: () => ToolCall.pending("t1"),
        status: () => Effect.succeed("done")
      }) as Tool.Any
      const { resultOf } = yield* played(agentOf([outerOf(() => Effect.option(callOf(job)))]))
      const [event] = resultOf("c/pay_1")
      assert.strictEqual(event?.isFailure, false)
      assert.strictEqual((event?.result as { readonly task_id: string }).task_id, "t1")
    }))
})

describe("a mark of such a call's result is one of the result around it", () => {
  const cached = (source: string, year: number): Tool.Any =>
    Tool.make(`from_${source}`, {
      success: Schema.Number,
      effects: "read",
      execute: () => Effect.fail(new Down())
    }).pipe(Tool.onError(Recovery.fallback("ExecutionError", Effect.succeed(9), {
      degraded: { source, asOf: DateTime.makeUnsafe(`${year}-01-01T00:00:00Z`) }
    }))) as never
  const price = cached("cache", 2026)

  it.effect("at whatever depth, in the executor and as a fallback", () =>
    Effect.gen(function*() {
      const mark = { source: "cache", asOf: "2026-01-01T00:00:00.000Z" }
      const middle = Tool.make("middle", {
        success: Schema.Unknown,
        effects: "read",
        execute: () => callOf(price) as never
      })
      const failing = Tool.make("outer", {
        success: Schema.Number,
        effects: "read",
        execute: () => Effect.fail(new Down())
      }).pipe(
        Tool.onError(Recovery.fallback("ExecutionError", callOf(price) as Effect.Effect<number>))
      ) as unknown as Tool.Any
      for (const tool of [outerOf(() => callOf(price)), outerOf(() => callOf(middle as never)), failing]) {
        const { resultOf, results } = yield* played(agentOf([tool]))
        assert.deepStrictEqual(results, [{ degraded: mark, result: 9 }])
        assert.deepStrictEqual(resultOf("c").map(({ degraded }) => degraded), [mark])
      }
      const { resultOf } = yield* played(agentOf([outerOf(() => callOf(price))]))
      assert.deepStrictEqual(resultOf("c/from_cache_1").map(({ degraded, result }) => ({ degraded, result })), [
        { degraded: mark, result: { degraded: mark, result: 9 } }
      ])
    }))

  it.effect("several are one: all sources, and the time of the oldest", () =>
    Effect.gen(function*() {
      const tool = outerOf(() => Effect.all([callOf(price), callOf(cached("backup", 2020)), callOf(price)]))
      const { results } = yield* played(agentOf([tool]))
      assert.deepStrictEqual(results, [
        { degraded: { source: "cache, backup", asOf: "2020-01-01T00:00:00.000Z" }, result: [9, 9, 9] }
      ])
    }))

  it.effect("of an attempt whose answer is not used there is none", () =>
    Effect.gen(function*() {
      let attempts = 0
      const tool = Tool.make("outer", {
        success: Schema.Unknown,
        effects: "read",
        execute: () =>
          ++attempts === 1 ? Effect.andThen(callOf(price) as never, Effect.fail(new Down())) : Effect.succeed(1)
      }).pipe(Tool.onError((c) => Effect.retry(c, { times: 1 }))) as unknown as Tool.Any
      const { results } = yield* played(agentOf([tool]))
      assert.deepStrictEqual(results, [1])
    }))

  it.effect("of a call that has failed behind it there is none", () =>
    Effect.gen(function*() {
      const failing = {
        "with an error": Tool.make("middle", {
          success: Schema.Unknown,
          effects: "read",
          execute: () => Effect.andThen(callOf(price) as never, Effect.fail(new Down()))
        }),
        "as what was answered in its place does not fit": Tool.make("middle", {
          success: Schema.Number,
          effects: "read",
          execute: () => Effect.fail(new Down())
        }).pipe(
          Tool.onError(
            Recovery.fallback("ExecutionError", Effect.succeed("x" as never), { degraded: { source: "cache" } })
          )
        )
      }
      for (const [how, middle] of Object.entries(failing)) {
        const { resultOf, results } = yield* played(
          agentOf([outerOf(() => Effect.orElseSucceed(callOf(middle as never), () => 1))])
        )
        assert.deepStrictEqual(results, [1], how)
        assert.deepStrictEqual(resultOf("c").map(({ degraded }) => degraded), [undefined], how)
      }
    }))

  it.effect("and none stays of a fallback whose answer was refused", () =>
    Effect.gen(function*() {
      let attempts = 0
      const tool = Tool.make("outer", {
        success: Schema.Number,
        effects: "read",
        execute: () => ++attempts === 1 ? Effect.fail(new Down()) : Effect.succeed(1)
      }).pipe(
        Tool.onError((c) =>
          c.pipe(
            Recovery.fallback("ExecutionError", Effect.succeed(9), { degraded: { source: "cache" } }),
            Effect.filterOrFail((n) => n !== 9, () => new Down()),
            Effect.retry({ times: 1 })
          )
        )
      ) as unknown as Tool.Any
      const { results } = yield* played(agentOf([tool]))
      assert.deepStrictEqual(results, [1])
    }))
})

describe("events of a call made by a tool, once", () => {
  const guarded: Array<unknown> = []
  const guard = OutputGuard.layer(({ content }) => Effect.sync(() => void guarded.push(content)))
  const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

  it.effect("report it as started, not as resumed", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.succeed("paid"))
      const { events } = yield* played(agentOf([outerOf(() => callOf(pay))]))
      assert.deepStrictEqual(
        events.flatMap((event) =>
          (event._tag === "ToolCallStarted" || event._tag === "ToolResult") && event.callId === "c/pay_1"
            ? [[event._tag, event._tag === "ToolCallStarted" && event.resumed]]
            : []
        ),
        [["ToolCallStarted", false], ["ToolResult", false]]
      )
    }))

  it.effect("do not report the call itself, repeated by its recovery, as another", () =>
    Effect.gen(function*() {
      const outer = outerOf(() => Effect.succeed("fine"))
      const { events, results, spans } = yield* played(
        agentOf([outer], { onToolError: { outer: () => callOf(outer) } })
      )
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "ToolCallStarted" || event._tag === "ToolResult" ? [`${event._tag} ${event.callId}`] : []
        ),
        ["ToolCallStarted c", "ToolResult c"]
      )
      assert.lengthOf(spans.filter(({ name }) => name === "execute_tool outer"), 1)
      assert.deepStrictEqual(results, ["fine"])
    }))

  it.effect("omit an interrupted unstarted call from audit and guard", () =>
    Effect.gen(function*() {
      guarded.length = 0
      const pay = write(() => Effect.succeed("paid"))
      const policies = [Policy.make("slow", () => Effect.never).pipe(Policy.forTools(pay))]
      const { audit, resultOf, results } = yield* Effect.provide(
        played(
          agentOf([outerOf(() => Effect.as(Effect.option(Effect.timeout(callOf(pay), 1000)), "fine"))], { policies })
        ),
        guard
      )
      assert.deepStrictEqual(resultOf("c/pay_1").map(({ code }) => code), ["not_run"])
      assert.deepStrictEqual([audit, results, guarded], [[], ["fine"], ["fine"]])
    }))

  it.effect("report an interrupted unrepeatable read as a timeout", () =>
    Effect.gen(function*() {
      const look = write(() => Effect.never, { effects: "read" })
        .pipe(Tool.onError((c) => Effect.retry(Effect.timeout(c, 1000), { times: 1 }) as never)) as Tool.Any
      const { resultOf, results } = yield* Effect.provide(
        played(agentOf([outerOf(() => Effect.as(Effect.exit(callOf(look)), "fine"))])),
        RetryBudget.layer({ share: 0, minPerSecond: 0 })
      )
      assert.deepStrictEqual(resultOf("c/pay_1").map(({ code }) => code), ["timeout"])
      assert.strictEqual((results[0] as { readonly code?: string }).code, "timeout")
    }))

  it.effect("have no result and no guard check for a waiting call", () =>
    Effect.gen(function*() {
      guarded.length = 0
      const pay = write(() => Effect.succeed("paid"), { needsApproval: true })
      const around = (name: string, inner: Tool.Any) =>
        Tool.make(name, {
          success: Schema.Unknown,
          effects: "read",
          mayRequestApproval: true,
          execute: (() => callOf(inner)) as never
        }) as never as Tool.Any
      const outer = around("outer", around("middle", pay))
      const agent = Agent.make("lead", { tools: [outer] } as never) as unknown as Agent.Resumable<
        string,
        string,
        unknown,
        never,
        never
      >
      const log = collect()
      const paused = yield* Effect.provide(
        agent.start("go"),
        Layer.mergeAll(guard, key, log.layer, ScriptedModel.layer(script))
      )
      assert.instanceOf(paused, Approval.Paused)
      // The outer call is repeated when the run resumes.
      const told = log.events.flatMap((event) => event._tag === "ToolResult" ? [`${event.callId} ${event.code}`] : [])
      assert.deepStrictEqual([told, guarded], [["c/middle_1 approval_required"], []])
    }))

  it.effect("call no guard for texts without a listener", () =>
    Effect.gen(function*() {
      guarded.length = 0
      const pay = write(() => Effect.succeed("paid"))
      yield* Effect.provide(
        agentOf([outerOf(() => Effect.as(callOf(pay), "fine"))]).run("go"),
        Layer.merge(ScriptedModel.layer(script), guard)
      )
      assert.deepStrictEqual(guarded, ["fine"])
    }))

  it.effect("wherever the run is interrupted", () =>
    Effect.gen(function*() {
      let cut = 0
      for (let operation = 1;; operation++) {
        const log = collect()
        const look = write(() => Effect.as(Effect.yieldNow, "seen"), { effects: "read" })
        const run = agentOf([outerOf(() => callOf(look))]).run("go")
        const ended = yield* VirtualTime.run(
          Effect.provide(run, Layer.merge(ScriptedModel.layer(script), log.layer)),
          { interruptAt: operation }
        )
        const of = (tag: string) =>
          log.events.flatMap((event) => event._tag === tag && "callId" in event ? [event.callId] : []).sort()
        assert.deepStrictEqual(of("ToolResult"), of("ToolCallStarted"), `interrupted at ${operation}`)
        if (of("ToolCallStarted").includes("c/pay_1")) cut++
        if (Exit.isSuccess(ended.exit)) break
      }
      assert.isAbove(cut, 5)
    }))
})

describe("such a call by hand, outside a run", () => {
  it.effect("is the same call when retried after a failure", () =>
    Effect.gen(function*() {
      const ids: Array<string> = []
      const look = write(
        (() =>
          Effect.flatMap(ToolCall.ToolCall, ({ id }) =>
            ids.push(id) === 1 ? Effect.fail(new Down()) : Effect.succeed("seen"))) as never,
        { effects: "read" }
      )
      const outer = outerOf(() =>
        Effect.retry(callOf(look), { times: 1 })
      )
      assert.strictEqual(yield* callOf(outer).pipe(by({}, "c")), "seen")
      assert.deepStrictEqual(ids, ["c/pay_1", "c/pay_1"])
    }))
})

describe("such a call has a span", () => {
  const spanOf = (spans: ReadonlyArray<Tracer.NativeSpan>, tool: string) =>
    spans.filter(({ name }) => name === `execute_tool ${tool}`)

  const ends: Readonly<Record<string, { readonly inner: Inner; readonly code: string | undefined }>> = {
    "that says nothing of a success": { inner: callOf(write(() => Effect.succeed("paid"))), code: undefined },
    "that says what is unknown": { inner: callOf(write(() => Effect.fail(new Down()))), code: "outcome_unknown" },
    "that says what is unknown of an interrupted write": {
      inner: Effect.timeout(callOf(write(() => Effect.never)), 1000),
      code: "outcome_unknown"
    },
    "that says what is unknown of a dead write": { inner: callOf(write(() => Effect.die(1))), code: "outcome_unknown" },
    "that says what is unknown of an interrupted keyed call": {
      inner: Effect.timeout(callOf(write(() => Effect.never, { effects: undefined, idempotency: true })), 1000),
      code: "outcome_unknown"
    },
    "that says what is declared": {
      inner: callOf(write(() => Effect.fail(new Closed()), { failure: Closed })),
      code: "upstream_error"
    },
    "that says that a read was not finished": {
      inner: Effect.timeout(callOf(write(() => Effect.never, { effects: "read" })), 1000),
      code: "not_run"
    },
    "that says what a read within which a write began came to": {
      inner: Effect.timeout(
        callOf(Tool.make("pay", {
          effects: "read",
          execute: () =>
            Effect.provideService(
              write(() => Effect.never).call as Inner,
              ToolCall.ToolCall,
              ToolCall.make({ id: "deep", arguments: {} })
            ) as never
        }) as never),
        1000
      ),
      code: "outcome_unknown"
    }
  }
  for (const [name, { code, inner }] of Object.entries(ends)) {
    it.effect(`${name}, and its event says the same`, () =>
      Effect.gen(function*() {
        const { resultOf, spans } = yield* played(agentOf([outerOf(() => Effect.exit(inner))]))
        const [outer] = spanOf(spans, "outer")
        const [pay] = spanOf(spans, "pay")
        assert.strictEqual(Option.getOrUndefined(pay!.parent)?.spanId, outer?.spanId)
        assert.strictEqual(pay?.status._tag, "Ended")
        assert.strictEqual(pay?.attributes.get("error.type"), code)
        assert.strictEqual(pay?.attributes.get("gen_ai.tool.call.id"), "c/pay_1")
        assert.deepStrictEqual(resultOf("c/pay_1").map(({ code }) => code), [code])
      }))
  }

  it.effect("that ends with the run", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.never)
      const { resultOf, spans } = yield* played(
        agentOf([outerOf(() => callOf(pay))], { budget: { duration: "1 second" } })
      )
      const [span] = spanOf(spans, "pay")
      assert.strictEqual(span?.status._tag, "Ended")
      assert.strictEqual(span?.attributes.get("error.type"), "outcome_unknown")
      assert.deepStrictEqual(resultOf("c/pay_1").map(({ code }) => code), ["outcome_unknown"])
    }))

  it.effect("has a span also if a policy denies it, like its event", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.succeed("paid"))
      const policies = [Policy.make("no", () => Policy.deny("no")).pipe(Policy.forTools(pay))]
      const { audit, resultOf, spans } = yield* played(
        agentOf([outerOf(() => Effect.catchCause(callOf(pay), () => Effect.succeed("fine")))], { policies })
      )
      assert.strictEqual(spanOf(spans, "pay")[0]?.attributes.get("error.type"), "permission_denied")
      assert.deepStrictEqual(resultOf("c/pay_1").map(({ code, deniedBy }) => [code, deniedBy]), [
        ["permission_denied", "policy"]
      ])
      assert.deepStrictEqual(audit, ["denied pay c/pay_1"])
    }))
})
