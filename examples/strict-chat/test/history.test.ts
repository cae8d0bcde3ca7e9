/** The history of the chat, also after rounds of failed calls. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import { Budget } from "@recourse/core"
import { done, play, shipped, status } from "./support/turns.ts"

const { call, calls, text } = ScriptedModel

describe("the history", () => {
  it.effect("leaves failed calls out, and keeps successes next to them", () =>
    Effect.gen(function*() {
      const [first, second] = yield* play([
        {
          user: "Where are A-1001 and A-1002?",
          model: [
            calls([{ name: "order_status", params: { orderId: "A-1001" } }, { name: "find_order", params: {} }]),
            calls([{ name: "order_status", params: { orderId: "nonsense" } }]),
            status("A-1002"),
            text("Both are on their way.")
          ]
        },
        { user: "Thanks", model: [text("You are welcome.")] }
      ])
      // Within the turn the model sees failed calls.
      assert.deepStrictEqual(first?.requests[2]?.slice(2), [
        `tool: call_1 ${shipped("A-1001")} + call_2 tool_not_found`,
        "assistant: call_3 order_status {\"orderId\":\"nonsense\"}",
        "tool: call_3 invalid_arguments"
      ])
      assert.deepStrictEqual(second?.requests, [[
        "user: Where are A-1001 and A-1002?",
        "assistant: call_1 order_status {\"orderId\":\"A-1001\"}",
        `tool: call_1 ${shipped("A-1001")}`,
        "assistant: call_4 order_status {\"orderId\":\"A-1002\"}",
        `tool: call_4 ${shipped("A-1002")}`,
        "assistant: Both are on their way.",
        "user: Thanks"
      ]])
    }))

  it.effect("keeps completed calls of a turn, and starts no others", () =>
    Effect.gen(function*() {
      const [first, second] = yield* play([
        {
          user: "Refund A-1001 and A-3001, and then A-1002",
          model: [calls(
            ["A-1001", "A-3001", "A-1002"].map((orderId) => ({ name: "refund", params: { orderId, reason: "late" } }))
          )]
        },
        { user: "What did you do?", model: [text("I refunded A-1001.")] }
      ])
      assert.deepStrictEqual(first?.done, ["refund A-1001", "refund A-3001"])
      assert.deepStrictEqual(first.audit, ["refund denied", "refund cancelled"])
      assert.deepStrictEqual(second?.requests, [[
        "user: Refund A-1001 and A-3001, and then A-1002",
        "assistant: call_1 refund {\"orderId\":\"A-1001\",\"reason\":\"late\"}",
        "tool: call_1 {\"refund\":\"R-A-1001\"}",
        "assistant: This is not allowed.",
        "user: What did you do?"
      ]])
    }))
})

describe("three rounds in which every call failed", () => {
  const bad = call("order_status", { orderId: "1001" })

  it.effect("end the turn with a fixed sentence, and the next starts fresh", () =>
    Effect.gen(function*() {
      const [first, second] = yield* play([
        {
          user: "Where is it?",
          model: [bad, call("find_order", {}), calls([{ name: "x", params: {} }, { name: "y", params: {} }])]
        },
        { user: "Where is A-1001?", model: [status("A-1001"), done] }
      ])
      assert.instanceOf(first?.error, Budget.BudgetExceeded)
      assert.strictEqual(first.error.reason, "allFailureRounds")
      assert.deepStrictEqual([first.requests.length, first.told], [3, "This took more than it may. I stopped."])
      assert.deepStrictEqual([first.done, first.audit], [[], []])
      assert.deepStrictEqual(second?.requests[0], [
        "user: Where is it?",
        "assistant: This took more than it may. I stopped.",
        "user: Where is A-1001?"
      ])
      assert.deepStrictEqual([second.told, second.done], ["done", ["order_status A-1001"]])
    }))

  it.effect("do not when one of their calls succeeded: the count starts again", () =>
    Effect.gen(function*() {
      const [turn] = yield* play([
        { user: "Where is A-1001?", model: [bad, bad, status("A-1001"), call("x", {}), call("y", {}), done] }
      ])
      assert.deepStrictEqual([turn?.told, turn?.requests.length, turn?.done], ["done", 6, ["order_status A-1001"]])
    }))
})
