/** Oracles of expectations. */

import { assert, describe, it } from "@effect/vitest"
import { Expectation, FaultPlan, ScriptedModel, SideEffects, Simulation, Subject } from "@recourse/testing"
import { Effect, Exit, Result, Schema } from "effect"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
import { events, type Run, without } from "../support/oracleRuns.ts"

describe("expectations", () => {
  const Send = Tool.make("send", {
    success: Schema.String,
    effects: "write",
    execute: () =>
      Effect.gen(function*() {
        const world = yield* SideEffects.SideEffects
        yield* world.perform({ tool: "send", key: (yield* ToolCall.ToolCall).id })
        return "sent"
      })
  })
  const subject = Subject.make({
    agent: Agent.make("sender", { tools: [Send], defaults: { onError: Recovery.standard }, budget: { turns: 3 } }),
    tools: [Send],
    budget: {},
    scenarios: { default: { input: "x", model: [ScriptedModel.call("send", {}), ScriptedModel.text("ok")] } }
  })
  const sent = Simulation.run(subject, subject.scenarios["default"]!)

  const told = (run: Run, code: string, body: object): Partial<Run> => {
    const result = { status: "error", code, ...body }
    return {
      ...events(run, (event) => event._tag === "ToolResult" ? { ...event, isFailure: true, code, result } : event),
      requests: run.requests.map((request) => ({
        ...request,
        prompt: {
          ...request.prompt,
          content: request.prompt.content.map((message) =>
            message.role === "tool"
              ? {
                ...message,
                content: message.content.map((part) =>
                  part.type === "tool-result" ? { ...part, isFailure: true, result } : part
                )
              }
              : message
          )
        } as never
      }))
    }
  }
  const more = (run: Run, event: object): Partial<Run> => ({ events: [...run.events, event as never] })
  const again = (run: Run) =>
    more(run, { ...run.events.find(({ _tag }) => _tag === "ToolAttempt")!, attempt: 2, callId: "call_1" })
  const exhausted = Exit.fail({ _tag: "BudgetExceeded", reason: "turns" })
  const planted = FaultPlan.make([FaultPlan.onTool("send", { type: "prompt_injection", text: "obey" })])
  const unknown = { safe_to_retry: false }
  const parts = { succeeded: ["a"], failed: [{ item: "b", code: "gone" }] }

  /** For each expectation: the change of a run of one call so that it holds, and the one so that it does not. */
  const broken: Readonly<
    Record<
      keyof typeof Expectation.all,
      readonly [holds: (run: Run) => Partial<Run>, breaks: (run: Run) => Partial<Run>, parameter?: string]
    >
  > = {
    retry_then_success: [again, () => ({ exit: Exit.fail("x") })],
    idempotency_key_prevents_duplicate_send: [
      ({ sideEffects }) => ({
        injected: [{ type: "timeout_after_commit", applied: true, tool: "send", index: 0 } as never],
        sideEffects: [...sideEffects, { ...sideEffects[0]!, duplicate: true }]
      }),
      ({ sideEffects }) => ({ sideEffects: sideEffects.map((effect) => ({ ...effect, duplicate: false })) })
    ],
    unsafe_output_blocked: [
      (run) => ({ plan: planted, ...told(run, "unsafe_output", {}) }),
      (run) => more(run, { _tag: "ToolResult", tool: "send", said: "obey" })
    ],
    fixed: [(run) => more(run, { _tag: "FixFinished", tool: "send", answer: "arguments" }), without("FixFinished")],
    escalated: [
      (run) => ({
        ...told(run, "down", {}),
        events: [...run.events, { _tag: "ToolEscalated", tool: "send", code: "down" } as never]
      }),
      without("ToolEscalated")
    ],
    asks_user: [
      (run) => ({ ...told(run, "missing_required_field", {}), exit: Exit.succeed("Which order do you mean?") }),
      () => ({ exit: Exit.succeed("It is done.") })
    ],
    fallback_used: [(run) => more(run, { _tag: "ToolFallback", tool: "send" }), without("ToolFallback")],
    outcome_unknown_reported: [(run) => told(run, "outcome_unknown", unknown), again],
    partial_success_reported: [
      (run) => told(run, "partial_success", parts),
      (run) => told(run, "partial_success", { ...parts, failed: [] })
    ],
    no_duplicate_side_effects: [() => ({}), ({ sideEffects }) => ({ sideEffects: [...sideEffects, ...sideEffects] })],
    model_retried: [(run) => more(run, { _tag: "ModelRetry" }), without("ModelRetry")],
    budget_stopped: [() => ({ exit: exhausted }), () => ({ exit: Exit.fail("x") }), "turns"],
    run_succeeded: [() => ({}), () => ({ exit: Exit.fail("x") })],
    run_ended_with: [() => ({ exit: Exit.die("x") }), () => ({ exit: Exit.succeed("x") }), "defect"],
    result_code: [(run) => told(run, "timeout", {}), (run) => ({ requests: run.requests.slice(0, 1) }), "timeout"]
  }

  it("are all here", () =>
    assert.deepStrictEqual(Object.keys(broken).toSorted(), Object.keys(Expectation.all).toSorted()))

  for (const [name, [holds, breaks, parameter]] of Object.entries(broken)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const run = yield* sent
        const expectation: Expectation.Expectation = Expectation.all[name as keyof typeof Expectation.all]
        const judged = (observation: Run) => expectation({ observation, tool: "send" }, parameter)
        const good = { ...run, ...holds(run) }
        assert.deepStrictEqual(judged(good), Result.void)
        assert.isTrue(Result.isFailure(judged({ ...good, ...breaks(good) })))
      }))
  }
})
