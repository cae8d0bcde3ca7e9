/** Permanent and transient failures of the chat's tools. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import { ToolError } from "@recourse/core"
import { BadCredentials, NoSuchOrder, NotYours, Unavailable } from "../src/orders.ts"
import { done, play, shipped, status } from "./support/turns.ts"

const { call, failure, text } = ScriptedModel

describe("one permanent failure", () => {
  const cases = [
    {
      name: "that an order is somebody else's",
      orderId: "A-3001",
      reason: NotYours,
      told: "This is not allowed.",
      audit: ["order_status denied"],
      secret: "bob@example.com"
    },
    {
      name: "that our own credentials are refused",
      orderId: "A-3002",
      reason: BadCredentials,
      told: "The service is not available.",
      audit: ["order_status authentication"],
      secret: "key-4711"
    },
    {
      name: "that there is no such order",
      orderId: "A-9999",
      reason: NoSuchOrder,
      told: "I could not find that.",
      audit: [],
      secret: "A-9999"
    }
  ]

  for (const { audit, name, orderId, reason, secret, told } of cases) {
    it.effect(`ends the turn: ${name}`, () =>
      Effect.gen(function*() {
        const [first, second] = yield* play([
          { user: "Where is it?", model: [status(orderId)] },
          { user: "Thanks", model: [done] }
        ])
        assert.instanceOf(first?.error, ToolError.ExecutionError)
        assert.isTrue(first.error.reason instanceof reason)
        assert.deepStrictEqual([first.requests.length, first.elapsed, first.told], [1, 100, told])
        assert.deepStrictEqual([first.done, first.audit], [[`order_status ${orderId}`], audit])
        assert.deepStrictEqual(second?.requests, [["user: Where is it?", `assistant: ${told}`, "user: Thanks"]])
        assert.notInclude(JSON.stringify(second.requests), secret)
      }))
  }

  it.effect("of the model is one too", () =>
    Effect.gen(function*() {
      const [first, second] = yield* play([
        { user: "Where is A-1001?", model: [status("A-1001"), failure("AuthenticationError")] },
        { user: "Hello?", model: [done] }
      ])
      assert.deepStrictEqual([first?.told, first?.done], ["The service is not available.", ["order_status A-1001"]])
      assert.deepStrictEqual(second?.requests[0]?.slice(2), [
        `tool: call_1 ${shipped("A-1001")}`,
        "assistant: The service is not available.",
        "user: Hello?"
      ])
    }))
})

describe("a transient failure", () => {
  it.effect("of a read is retried on a schedule, silently (5xx)", () =>
    Effect.gen(function*() {
      const [turn] = yield* play([{ user: "Where is A-2001?", model: [status("A-2001"), done] }])
      assert.deepStrictEqual([turn?.told, turn?.elapsed], ["done", 3 * 100 + 200 + 400])
      assert.deepStrictEqual(turn?.done, Array.from({ length: 3 }, () => "order_status A-2001"))
      assert.deepStrictEqual(turn.conversation, [
        "user: Where is A-2001?",
        "assistant: call_1 order_status {\"orderId\":\"A-2001\"}",
        `tool: call_1 ${shipped("A-2001")}`,
        "assistant: done"
      ])
      assert.deepStrictEqual(turn.audit, [])
    }))

  it.effect("is tried again when the service wants it (429)", () =>
    Effect.gen(function*() {
      const [turn] = yield* play([{ user: "Where is A-2003?", model: [status("A-2003"), done] }])
      assert.deepStrictEqual([turn?.told, turn?.elapsed], ["done", 2 * 100 + 3000])
      assert.deepStrictEqual(turn?.done, ["order_status A-2003", "order_status A-2003"])
    }))

  it.effect("that stays is for the model (timeout), until three rounds have failed", () =>
    Effect.gen(function*() {
      const [first, second] = yield* play([
        { user: "Where is A-2004?", model: [status("A-2004"), status("A-2002"), text("It does not answer.")] },
        { user: "And now?", model: [status("A-2002"), status("A-2004"), status("A-2002")] }
      ])
      assert.deepStrictEqual(first?.requests[2]?.slice(2), [
        "tool: call_1 timeout",
        "assistant: call_2 order_status {\"orderId\":\"A-2002\"}",
        "tool: call_2 upstream_error"
      ])
      assert.strictEqual(first.elapsed, (2000 + 200 + 2000 + 400 + 2000) + (3 * 100 + 200 + 400))
      assert.strictEqual(first.done.length, 6)
      assert.deepStrictEqual(second?.requests[0], [
        "user: Where is A-2004?",
        "assistant: It does not answer.",
        "user: And now?"
      ])
      assert.deepStrictEqual([second.requests.length, second.done.length], [3, 9])
      assert.strictEqual(second.told, "This took more than it may. I stopped.")
    }))

  it.effect("of a write is not retried, and ends the turn (5xx)", () =>
    Effect.gen(function*() {
      const [turn] = yield* play([
        { user: "Refund A-2002", model: [call("refund", { orderId: "A-2002", reason: "late" })] }
      ])
      assert.instanceOf(turn?.error, ToolError.OutcomeUnknown)
      assert.isTrue(turn.error.reason instanceof Unavailable)
      assert.deepStrictEqual([turn.requests.length, turn.done, turn.elapsed], [1, ["refund A-2002"], 100])
      assert.strictEqual(
        turn.told,
        "I could not confirm whether this was done. Please check before trying again."
      )
    }))

  it.effect("of a possible write is reported, and known later (timeout)", () =>
    Effect.gen(function*() {
      const [first, second] = yield* play([
        { user: "Refund A-2004", model: [call("refund", { orderId: "A-2004", reason: "late" })] },
        { user: "And?", model: [done] }
      ])
      const unconfirmed = "I could not confirm whether this was done. Please check before trying again."
      assert.instanceOf(first?.error, ToolError.OutcomeUnknown)
      assert.deepStrictEqual([first.told, first.done, first.elapsed], [unconfirmed, ["refund A-2004"], 5000])
      assert.deepStrictEqual(first.audit, ["refund outcome_unknown"])
      assert.deepStrictEqual(second?.requests, [["user: Refund A-2004", `assistant: ${unconfirmed}`, "user: And?"]])
    }))

  it.effect("of the model is tried again on a schedule, too", () =>
    Effect.gen(function*() {
      const [turn] = yield* play([{ user: "Hello", model: [failure("InternalProviderError"), done] }])
      assert.deepStrictEqual([turn?.told, turn?.elapsed, turn?.requests.length], ["done", 500, 2])
    }))
})
