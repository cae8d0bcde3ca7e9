/** Policies and approvals of a tool that another tool calls. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit } from "effect"
import { Approval, Policy, Recovery, Tool, ToolCall } from "@recourse/core"
import { agentOf, Down, layer, outer, pausedOf, played, tool } from "../support/innerCalls.ts"

const { call, text } = ScriptedModel

const ways: Readonly<
  Record<string, (b: Tool.Any) => { readonly state: { readonly runs: number }; readonly tool: Tool.Any }>
> = {
  "in its executor": (b) => outer("read", () => b.call as Effect.Effect<string, unknown, ToolCall.ToolCall>),
  "as a fallback": (b) => {
    const a = outer("read", () => Effect.fail(new Down()))
    return {
      ...a,
      tool: a.tool.pipe(Tool.onError(Recovery.fallback("ExecutionError", b.call) as never)) as Tool.Any
    }
  },
  "made by hand": (b) =>
    outer("read", ({ to }) =>
      Effect.provideService(
        b.call as Effect.Effect<string, unknown, ToolCall.ToolCall>,
        ToolCall.ToolCall,
        ToolCall.make({ id: "mine", arguments: { to } })
      )),
  "swallowing what stops it": (b) =>
    outer(
      "read",
      () =>
        Effect.catchCause(
          b.call as Effect.Effect<string, unknown, ToolCall.ToolCall>,
          () => Effect.succeed("swallowed")
        )
    )
}

describe("admission of a tool with its arguments", () => {
  for (const [way, make] of Object.entries(ways)) {
    it.effect(`a policy's denial of the tool stops its caller: ${way}`, () =>
      Effect.gen(function*() {
        const pay = tool("pay", "write")
        const a = make(pay.tool)
        const policies = [Policy.make("no payments", () => Policy.deny("no")).pipe(Policy.forTools(pay.tool))]
        const { audit, results } = yield* played(agentOf([a.tool], { policies }).report("go"))
        assert.deepStrictEqual(pay.runs, [])
        assert.deepStrictEqual(results.map(({ result }) => (result as { code: string }).code), ["permission_denied"])
        assert.deepStrictEqual(
          audit.map(({ by, callId, decision, tool }) => [decision, tool, callId.split("/")[0], by]),
          [["denied", "pay", "c", "no payments"]]
        )
      }).pipe(Effect.provide(layer)))

    for (const needed of ["tool", "policy"]) {
      const paused = Effect.gen(function*() {
        const pay = tool("pay", "write", { needsApproval: needed === "tool" })
        const a = make(pay.tool)
        const policies = needed === "tool"
          ? [Policy.make("open", () => Policy.allow)]
          : [
            Policy.make("ask", () => Policy.requireApproval("large"), { mayRequestApproval: true }).pipe(
              Policy.forTools(pay.tool)
            )
          ]
        const agent = agentOf([a.tool], { policies })
        const first = yield* played(agent.start("go"))
        const paused = pausedOf(first.exit)
        assert.deepStrictEqual(pay.runs, [])
        assert.deepStrictEqual(paused.pending.map(({ arguments: args, tool }) => [tool, args]), [["pay", {
          to: "Ada"
        }]])
        const { argumentsHash, callId } = paused.pending[0]!
        // As another process has it.
        const snapshot = JSON.parse(JSON.stringify(paused.snapshot)) as unknown
        const resume = (decision: object) =>
          played(agent.resume(snapshot, [{ callId, argumentsHash, ...decision } as Approval.Decision]))
        return { a, first, pay, resume }
      })

      it.effect(`the person is shown the tool, and approved calls run (${needed}): ${way}`, () =>
        Effect.gen(function*() {
          const { first, pay, resume } = yield* paused
          assert.deepStrictEqual(
            first.audit.map(({ decision, tool }) => [decision, tool]),
            [["approval_requested", "pay"]]
          )
          const { audit, exit, results } = yield* resume({ _tag: "Approve", by: "Bo" })
          assert.isTrue(Exit.isSuccess(exit))
          assert.deepStrictEqual(pay.runs.map(({ to }) => to), ["Ada"])
          assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada"])
          assert.deepStrictEqual(audit.map(({ decision, tool }) => [decision, tool]), [["approved", "pay"]])
        }).pipe(Effect.provide(layer)))

      it.effect(`edited, answered, rejected (${needed}): ${way}`, () =>
        Effect.gen(function*() {
          const edited = yield* paused
          const { results } = yield* edited.resume({ _tag: "Edit", arguments: { to: "Eve" } })
          assert.deepStrictEqual(edited.pay.runs.map(({ to }) => to), ["Eve"])
          assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Eve"])

          const answered = yield* paused
          const second = yield* answered.resume({ _tag: "Respond", result: "by hand" })
          assert.deepStrictEqual(answered.pay.runs, [])
          assert.deepStrictEqual(second.results.map(({ result }) => result), ["by hand"])

          const rejected = yield* paused
          const third = yield* rejected.resume({ _tag: "Reject", reason: "too much" })
          assert.deepStrictEqual(rejected.pay.runs, [])
          assert.deepStrictEqual(third.audit.map(({ decision, tool }) => [decision, tool]), [["rejected", "pay"]])
          assert.deepStrictEqual(
            third.results.map(({ result }) => (result as { code: string }).code),
            ["permission_denied"]
          )
        }).pipe(Effect.provide(layer)))
    }
  }

  it.effect("a policy's substitute answer is audited under the tool's name", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write")
      const policies = [Policy.make("dry", () => Policy.substitute("not paid")).pipe(Policy.forTools(pay.tool))]
      const { audit, results } = yield* played(
        agentOf([outer("read", () => pay.tool.call).tool], { policies }).report("go")
      )
      assert.deepStrictEqual(results.map(({ result }) => result), ["not paid"])
      assert.deepStrictEqual(audit.map(({ by, decision, tool }) => [decision, tool, by]), [[
        "substituted",
        "pay",
        "dry"
      ]])
      assert.deepStrictEqual(pay.runs, [])
    }).pipe(Effect.provide(layer)))

  it.effect("an approval covers neither another tool nor other arguments", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const refund = tool("refund", "write", { needsApproval: true })
      let other: Tool.Any = pay.tool
      const agent = agentOf([outer("read", () => other.call as Effect.Effect<string, unknown, ToolCall.ToolCall>).tool])
      const first = pausedOf((yield* played(agent.start("go"))).exit)
      other = refund.tool
      const second = pausedOf((yield* played(agent.resume(first.snapshot, [Approval.approve(first.pending[0]!)]))).exit)
      assert.deepStrictEqual(second.pending.map(({ tool }) => tool), ["refund"])
      assert.deepStrictEqual([...pay.runs, ...refund.runs], [])
    }).pipe(Effect.provide(layer)))

  it.effect("with unknown started writes it is denied as unknown, without pause", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const note = tool("note", "write")
      const cases = [
        outer("write", () => pay.tool.call),
        // Its answer was lost.
        outer(
          "read",
          () => Effect.andThen(Effect.option(tool("lost", "write", { failures: 1 }).tool.call), pay.tool.call)
        ),
        // By an agent that a tool runs.
        outer("read", () =>
          Effect.andThen(
            Effect.provide(
              agentOf([note.tool]).run("go"),
              ScriptedModel.layer(ScriptedModel.steps([call("note", { to: "Ada" }), text("done")]))
            ),
            pay.tool.call
          ))
      ]
      for (const { state, tool } of cases) {
        const { audit, exit, results } = yield* played(agentOf([tool]).start("go"))
        assert.isTrue(Exit.isSuccess(exit))
        assert.strictEqual(state.runs, 1)
        assert.deepStrictEqual(results.map(({ result }) => (result as { code: string }).code), ["outcome_unknown"])
        assert.include(audit.map(({ decision, tool }) => `${decision} ${tool}`), "denied pay")
      }
      assert.deepStrictEqual(pay.runs, [])
    }).pipe(Effect.provide(layer)))
})
