/** Texts of a failure, one rule each: repeatability of the call, length limits, redaction. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Agent, AgentEvent, Audit, ErrorProjection, Policy, Recovery, Redaction, Tool } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

const secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789"

/** The model's text of a declared error. */
const told = (effects: Tool.Effects | undefined, declaration: ErrorProjection.Declaration<unknown>) =>
  Effect.gen(function*() {
    class Declared extends Schema.TaggedError<Declared>()("Declared", {}, ErrorProjection.declare(declaration)) {}
    const Act = Tool.make("act", {
      success: Schema.String,
      effects,
      failure: Declared,
      execute: () => Effect.fail(new Declared())
    }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "OutcomeUnknown")))
    yield* Agent.make("a", { tools: [Act] }).run("go")
    const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
    return lastResults(prompt)[0]?.result as ErrorProjection.ToolFailure
  }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("act", {}), ScriptedModel.text("ok")])))

describe("safe to repeat", () => {
  for (const effects of ["read", "idempotent", "write", undefined] as const) {
    for (const outcome of [undefined, "not_done", "unknown"] as const) {
      for (const code of ["timeout", "rate_limited", "upstream_error", "circuit_open", "not_found", "own"]) {
        const passes = !["not_found", "own"].includes(code)
        const isSafe = passes && (effects === "read" || effects === "idempotent" || outcome === "not_done")
        it.effect(`${isSafe}: ${code}, effects ${effects}, outcome ${outcome}`, () =>
          Effect.gen(function*() {
            const failure = yield* told(effects, { code, outcome })
            assert.strictEqual(failure.code, effects === "write" && outcome !== "not_done" ? "outcome_unknown" : code)
            assert.strictEqual(failure.safe_to_retry, isSafe)
          }))
      }
    }
  }
})

it.effect("a declared text for the user is bounded like the model's", () =>
  Effect.gen(function*() {
    const { message_for_model, message_for_user } = yield* told("read", {
      model: "m".repeat(10_000),
      user: "u".repeat(10_000)
    })
    assert.isAtMost(message_for_model.length, 4_001)
    assert.isAtMost(message_for_user.length, 4_001)
    assert.match(message_for_user, /^u{1000}/)
  }))

it.effect("a policy's reason is redacted in the audit", () =>
  Effect.gen(function*() {
    const reasons: Array<string | undefined> = []
    const Act = Tool.make("act", { success: Schema.String, execute: () => Effect.succeed("done") })
    yield* Agent.make("a", {
      tools: [Act],
      policies: [Policy.make("closed", () => Policy.deny(`${secret} is of somebody else`))]
    }).run("go").pipe(Effect.provide(Layer.merge(
      Audit.layer(({ reason }) => Effect.sync(() => reasons.push(reason))),
      ScriptedModel.layer([ScriptedModel.call("act", {}), ScriptedModel.text("ok")])
    )))
    assert.strictEqual(reasons.length, 1)
    assert.strictEqual(reasons[0], "[redacted: github token] is of somebody else")
  }))

it.effect("a result's keys are redacted like its values", () =>
  Effect.gen(function*() {
    const Act = Tool.make("act", {
      success: Schema.Record(Schema.String, Schema.Number),
      effects: "read",
      execute: () => Effect.succeed({ [secret]: 1 })
    })
    yield* Agent.make("a", { tools: [Act] }).run("go")
    const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
    assert.deepStrictEqual(lastResults(prompt)[0]?.result, { "[redacted: github token]": 1 })
  }).pipe(Effect.provide(Layer.merge(
    Redaction.layer(Redaction.make({ results: true })),
    ScriptedModel.layer([ScriptedModel.call("act", {}), ScriptedModel.text("ok")])
  ))))

describe("a call interrupted because another one ended the run", () => {
  const cutOff = (effects: Tool.Effects | undefined, concurrency: number) =>
    Effect.gen(function*() {
      const Fail = Tool.make("fail", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.andThen(Effect.yieldNow, Effect.fail("no"))
      })
      const Hang = Tool.make("hang", { success: Schema.String, effects, execute: () => Effect.never })
      const { transcript } = yield* Agent.make("a", { tools: [Hang, Fail], concurrency }).report("go")
      return lastResults(transcript).find(({ id }) => id === "hang")?.result as ErrorProjection.ToolFailure
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.calls([
        { name: "fail", params: {}, id: "fail" },
        { name: "hang", params: {}, id: "hang" }
      ])
    ])))

  for (
    const [effects, concurrency, code, isSafe] of [
      ["read", 2, "not_run", false],
      ["idempotent", 2, "outcome_unknown", true],
      ["write", 2, "outcome_unknown", false],
      [undefined, 2, "outcome_unknown", false],
      ["write", 1, "not_run", true]
    ] as const
  ) {
    const when = concurrency === 1 ? "before it began" : "while it ran"
    it.effect(`${when}, effects ${effects}: ${code}, safe to repeat: ${isSafe}`, () =>
      Effect.gen(function*() {
        const failure = yield* cutOff(effects, concurrency)
        assert.deepStrictEqual([failure.code, failure.safe_to_retry], [code, isSafe])
      }))
  }
})

it.effect("a recovered call's code, text and wait reach the user", () =>
  Effect.gen(function*() {
    const Busy = Schema.TaggedStruct("Busy", {}).annotate(
      ErrorProjection.declare({ code: "rate_limited", user: "Too many questions.", retryAfter: () => "90 seconds" })
    )
    const Ask = Tool.make("ask", {
      failure: Busy,
      effects: "read",
      execute: () => Effect.fail({ _tag: "Busy" } as const)
    }).pipe(
      Tool.onError(Recovery.escalate("ExecutionError"))
    )
    const heard: Array<unknown> = []
    yield* Agent.make("a", { tools: [Ask], defaults: { onError: Recovery.standard } }).run("go").pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.call("ask", {}), ScriptedModel.text("ok")])),
      Effect.provide(
        AgentEvent.listen((event) =>
          Effect.sync(() =>
            event._tag === "ToolResult" && heard.push([event.code, event.userMessage, event.retryAfter])
          )
        )
      )
    )
    assert.deepStrictEqual(heard, [["rate_limited", "Too many questions.", 90_000]])
  }))
