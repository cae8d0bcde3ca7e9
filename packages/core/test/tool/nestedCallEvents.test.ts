/** Events of a call made by a tool. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, ErrorProjection, OutputGuard, Policy, RetryBudget, Tool, ToolCall } from "@recourse/core"
import { collect } from "../support/kit.ts"
import { agentOf, callOf, Closed, outerOf, played, script, write } from "../support/reportedCalls.ts"

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
