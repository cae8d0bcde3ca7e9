import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { ScriptedModel, SideEffects, VirtualTime } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { type Agent, type AgentError } from "@recourse/core"
import * as Chat from "../src/chat.ts"
import * as Double from "../src/double.ts"
import { MissingInformation } from "../src/missing.ts"
import type { BadCredentials, NoSuchOrder, NotYours, Unavailable } from "../src/orders.ts"
import { type TooManyRequests } from "../src/orders.ts"
import { program } from "../src/program.ts"
import { done, play, shipped, status } from "./support/turns.ts"

const { call, text } = ScriptedModel

const which = "Which order is it about? Please tell me its number."

describe("the error type of a turn", () => {
  it("contains its ends: questions, permanent failures, and failed writes", () => {
    type Left = Exclude<Agent.Error<typeof Chat.agent>, AgentError.AgentError>
    expectTypeOf<Left["_tag"]>().toEqualTypeOf<
      "MissingInformation" | "ExecutionError" | "OutcomeUnknown" | "InvalidResult"
    >()
    expectTypeOf<Extract<Left, { readonly _tag: "ExecutionError" }>["reason"]>().toEqualTypeOf<
      NoSuchOrder | NotYours | BadCredentials | TooManyRequests | Unavailable
    >()
  })
})

describe("a missing argument", () => {
  it.effect("is taken from the user's last message", () =>
    Effect.gen(function*() {
      const [turn] = yield* play([{ user: "Where is A-1001?", model: [call("order_status", {}), done] }])
      assert.deepStrictEqual(turn?.requests, [
        ["user: Where is A-1001?"],
        ["user: Where is A-1001?", "assistant: call_1 order_status {}", `tool: call_1 ${shipped("A-1001")}`]
      ])
      assert.strictEqual(turn.told, "done")
      assert.deepStrictEqual(turn.done, ["order_status A-1001"])
      assert.deepStrictEqual(turn.audit, [])
    }))

  it.effect("is recorded as repaired, with the arguments that were used", () =>
    Effect.gen(function*() {
      const { exit } = yield* VirtualTime.run(Chat.say(Chat.begin, "Refund A-1001")).pipe(
        Effect.provide(Layer.mergeAll(
          Double.layer.pipe(Layer.provide(SideEffects.layer)),
          ScriptedModel.layer([call("refund", { reason: "late" }), done])
        ))
      )
      const turn = yield* exit
      const result = turn.conversation.content.find(({ role }) => role === "tool")
      assert.deepStrictEqual(result?.role === "tool" ? result.content[0]?.options : undefined, {
        recourse: {
          repaired: { arguments: JSON.stringify({ reason: "late", orderId: "A-1001" }), by: "conversation" }
        }
      })
    }))

  it.effect("is taken from earlier turns for a read about one order", () =>
    Effect.gen(function*() {
      const turns = yield* play([
        { user: "Where is A-1001?", model: [status("A-1001"), done] },
        { user: "And now?", model: [call("order_status", {}), done] },
        { user: "And A-1002?", model: [status("A-1002"), done] },
        { user: "And now?", model: [call("order_status", {})] }
      ])
      assert.deepStrictEqual(turns.map((turn) => turn.done), [
        ["order_status A-1001"],
        ["order_status A-1001"],
        ["order_status A-1002"],
        []
      ])
      assert.strictEqual(turns[3]?.told, which)
    }))

  it.effect("of a write is taken only from the user's last message", () =>
    Effect.gen(function*() {
      const turns = yield* play([
        { user: "Where is A-1001?", model: [status("A-1001"), done] },
        { user: "Then refund it.", model: [call("refund", { reason: "late" })] },
        { user: "A-1002, I mean.", model: [call("refund", { reason: "late" }), done] },
        { user: "And A-1001 and A-1002.", model: [call("refund", { reason: "late" })] }
      ])
      assert.deepStrictEqual(turns.map(({ done, told }) => [told, done]), [
        ["done", ["order_status A-1001"]],
        [which, []],
        ["done", ["refund A-1002"]],
        [which, []]
      ])
    }))

  it.effect("that is unknown ends the turn with a question", () =>
    Effect.gen(function*() {
      const [first, second] = yield* play([
        { user: "Where is it?", model: [text("I look.", { calls: [{ name: "order_status", params: {} }] })] },
        { user: "A-1001", model: [status("A-1001"), done] }
      ])
      assert.instanceOf(first?.error, MissingInformation)
      assert.deepStrictEqual([first.requests.length, first.told, first.done, first.audit], [1, which, [], []])
      assert.deepStrictEqual(second?.requests, [
        ["user: Where is it?", `assistant: I look. + ${which}`, "user: A-1001"],
        [
          "user: Where is it?",
          `assistant: I look. + ${which}`,
          "user: A-1001",
          "assistant: call_2 order_status {\"orderId\":\"A-1001\"}",
          `tool: call_2 ${shipped("A-1001")}`
        ]
      ])
      assert.deepStrictEqual([second.told, second.done], ["done", ["order_status A-1001"]])
    }))

  it.effect("is requested in the user's language, without other arguments' values", () =>
    Effect.gen(function*() {
      const secret = "my card is 4111 1111 1111 1111"
      const [turn] = yield* play([{ user: "退款", model: [call("refund", { reason: secret })] }], "zh-CN")
      assert.strictEqual(turn?.told, "请问是哪个订单？请告诉我订单号。")
      assert.deepStrictEqual(turn.conversation, ["user: 退款", `assistant: ${turn.told}`])
      assert.notInclude(JSON.stringify(turn.error), secret)
      assert.deepStrictEqual(turn.done, [])
    }))

  it.effect("that is found lets the next missing one be requested", () =>
    Effect.gen(function*() {
      const [turn] = yield* play([{ user: "Refund A-1001", model: [call("refund", {})] }])
      assert.deepStrictEqual([turn?.told, turn?.requests.length, turn?.done], ["Why should it be refunded?", 1, []])
    }))

  it.effect("differs from other unfit arguments, which the model corrects", () =>
    Effect.gen(function*() {
      const [turn] = yield* play([{
        user: "Where is A-1001?",
        model: [
          call("order_status", { orderId: "1001" }),
          call("order_status", "{\"orderId\":"),
          status("A-1001"),
          done
        ]
      }])
      assert.strictEqual(turn?.requests.length, 4)
      assert.deepStrictEqual(turn.requests[2]?.slice(1), [
        "assistant: call_1 order_status {\"orderId\":\"1001\"}",
        "tool: call_1 invalid_arguments",
        "assistant: call_2 order_status \"{\\\"orderId\\\":\"",
        "tool: call_2 invalid_arguments"
      ])
      assert.deepStrictEqual([turn.told, turn.done], ["done", ["order_status A-1001"]])
    }))
})

describe("the program", () => {
  it.effect("plays a chat of seven turns", () =>
    Effect.gen(function*() {
      const lines = yield* program
      const told = lines.filter((line) => line.startsWith("assistant")).map((line) => line.slice(11))
      assert.deepStrictEqual(told, [
        which,
        "A-1001 is on its way.",
        which,
        "Your money is on its way.",
        "This is not allowed.",
        "A-2001 is on its way, too.",
        "This took more than it may. I stopped."
      ])
      assert.deepStrictEqual(lines.filter((line) => line.startsWith("done: refund")), ["done: refund A-1001"])
    }))
})
