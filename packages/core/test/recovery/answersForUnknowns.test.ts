/** Recovery that answers in place of an unknown outcome: the model, the claims and the audit still have the unknown outcome. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Audit, History, IdempotencyLedger, Recovery, Tool, type ToolCall } from "@recourse/core"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { collect, Down, lastResults } from "../support/kit.ts"
import { type AnyTool, toolOf } from "../support/looseTools.ts"

const { call, text } = ScriptedModel

type Recover = (
  call: Effect.Effect<string, never, ToolCall.ToolCall>
) => Effect.Effect<string, unknown, ToolCall.ToolCall>

/** Runs an agent whose only tool is called once. */
const played = (tool: AnyTool, onToolError: object) =>
  Effect.gen(function*() {
    const audit: Array<string> = []
    const { events, layer } = collect()
    const agent = Agent.make("clerk", { tools: [tool], onToolError, defaults: { onError: Recovery.keepGoing } })
    const { transcript } = yield* agent.report("x").pipe(
      Effect.provide(layer),
      Effect.provide(Audit.layer(({ callId, decision }) => Effect.sync(() => audit.push(`${callId} ${decision}`))))
    )
    const request = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
    const [result] = lastResults(request.prompt)
    const codes = events.flatMap((event) =>
      event._tag === "ToolResult" && event.callId === "c" ? [[event.isFailure, event.code]] : []
    )
    return { audit, codes, claims: History.claims(transcript).map(({ state }) => state), result }
  }).pipe(
    Effect.provide(
      Layer.merge(ScriptedModel.layer([call("pay", {}, { id: "c" }), text("k")]), IdempotencyLedger.layerMemory)
    ),
    Drive.drive
  )

const answer = () => Effect.succeed("not paid")

const late: Readonly<Record<string, Recover>> = {
  "Effect.timeoutOrElse": Effect.timeoutOrElse({ duration: "1 second", orElse: answer }),
  "Effect.raceFirst": Effect.raceFirst(Effect.delay(answer(), "1 second")),
  "Effect.timeoutOption": (call) => Effect.map(Effect.timeoutOption(call, "1 second"), () => "not paid")
}
const failed: Readonly<Record<string, Recover>> = {
  "Effect.catchTag": (call) => Effect.catchTag(call as Effect.Effect<string, never>, "OutcomeUnknown" as never, answer),
  "Effect.catch": (call) => Effect.catch(call, answer),
  "Effect.catchCause": (call) => Effect.catchCause(call, answer)
}

describe.each(["of the tool", "of the agent"])("recovery %s", (level) => {
  it.effect.each(
    [...Object.entries(late), ...Object.entries(failed)].flatMap(([name, recover]) =>
      [false, true].map((isKeyed) => [name, isKeyed ? "with" : "without", recover] as const)
    )
  )("by %s does not hide an unknown outcome %s a key", ([name, key, recover]) =>
    Effect.gen(function*() {
      const tool = toolOf("pay", {
        effects: "write",
        ...(key === "with" ? { idempotency: true } : undefined),
        execute: () => name in late ? Effect.delay(Effect.succeed("paid"), "1 minute") : Effect.fail(new Down())
      })
      const { audit, claims, codes, result } = level === "of the tool"
        ? yield* played(tool.pipe(Tool.onError(recover as never)) as AnyTool, {})
        : yield* played(tool, { pay: recover })
      assert.deepStrictEqual(claims, ["unknown"])
      assert.deepStrictEqual(audit, ["c outcome_unknown"])
      assert.deepStrictEqual(codes, [[false, "outcome_unknown"]])
      assert.hasAllKeys(result?.result, ["outcome_unknown", "result"])
    }))
})

describe("an executor that answers after an unknown inner write", () => {
  it.effect("does not hide its outcome", () =>
    Effect.gen(function*() {
      const inner = toolOf("transfer", { effects: "write", execute: () => Effect.fail(new Down()) })
      const tool = toolOf("pay", { effects: "read", execute: () => Effect.catch(inner.call, answer) })
      const { audit, claims, result } = yield* played(tool, {})
      assert.deepStrictEqual(claims, ["unknown"])
      assert.deepStrictEqual(audit, ["c/transfer_1 outcome_unknown"])
      assert.hasAllKeys(result?.result, ["outcome_unknown", "result"])
    }))
})

describe("an answer in place of a failure that is not declared as not done", () => {
  const undeclared = (recover: unknown) =>
    toolOf("pay", { execute: () => Effect.fail(new Down()) }).pipe(Tool.onError(recover as never)) as AnyTool

  it.effect("is an unknown claim, and the model reads the answer alone", () =>
    Effect.gen(function*() {
      for (const recover of [Effect.catch(answer), Recovery.fallback("ExecutionError" as never, answer)]) {
        const { audit, claims, result } = yield* played(undeclared(recover), {})
        assert.deepStrictEqual([claims, audit, result?.result], [["unknown"], [], "not paid"])
      }
    }))

  it.effect("is a substitute if it names its source", () =>
    Effect.gen(function*() {
      const recover = Recovery.fallback("ExecutionError" as never, answer, { degraded: { source: "cache" } })
      assert.deepStrictEqual((yield* played(undeclared(recover), {})).claims, ["substituted"])
    }))
})
