import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { ScriptedModel, SideEffects, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer } from "effect"
import type { Prompt } from "effect/ai"
import { type Agent, type AgentError, Audit, Budget, Catalogue, ToolError } from "@recourse/core"
import * as Chat from "../src/chat.ts"
import * as Double from "../src/double.ts"
import { MissingInformation } from "../src/missing.ts"
import { BadCredentials, NoSuchOrder, NotYours, type TooManyRequests, Unavailable } from "../src/orders.ts"
import { program } from "../src/program.ts"
import * as Texts from "../src/texts.ts"

const { call, calls, failure, text } = ScriptedModel
const done = text("done")
const status = (orderId: string) => call("order_status", { orderId })

interface Turn {
  readonly user: string
  readonly model: ReadonlyArray<ScriptedModel.Turn>
}

/** Plays a chat in virtual time, and returns everything that a rule is about, for each turn. */
const play = (turns: ReadonlyArray<Turn>, locale = "en") => {
  const audit: Array<Audit.AuditRecord> = []
  return Effect.gen(function*() {
    const script = yield* ScriptedModel.ScriptedModel
    const world = yield* SideEffects.SideEffects
    let conversation = Chat.begin
    const played = []
    for (const { user } of turns) {
      const [requests, effects, records] = [(yield* script.requests).length, (yield* world.all).length, audit.length]
      const { elapsed, exit } = yield* VirtualTime.run(Chat.say(conversation, user))
      const turn = yield* exit
      conversation = turn.conversation
      played.push({
        told: turn.told,
        error: Exit.isFailure(turn.exit) ? Cause.squash(turn.exit.cause) : undefined,
        elapsed,
        conversation: spoken(conversation),
        requests: (yield* script.requests).slice(requests).map(({ prompt }) => spoken(prompt)),
        done: (yield* world.all).slice(effects).map(({ details, tool }) => `${tool} ${String(details)}`),
        audit: audit.slice(records).map(({ decision, tool }) => `${tool} ${decision}`)
      })
    }
    yield* script.assertComplete
    return played
  }).pipe(Effect.provide(Layer.mergeAll(
    Double.layer.pipe(Layer.provideMerge(SideEffects.layer)),
    ScriptedModel.layer(turns.flatMap(({ model }) => model)),
    Texts.layer,
    Catalogue.layerLocale(locale),
    Audit.layer((record) => Effect.sync(() => audit.push(record)))
  )))
}

/** A conversation in short, without system messages. */
const spoken = ({ content }: Prompt.Prompt): ReadonlyArray<string> =>
  content.flatMap((message) =>
    message.role === "system" ? [] : `${message.role}: ${message.content.map(partOf).join(" + ")}`
  )

const partOf = (part: Prompt.Part): string => {
  switch (part.type) {
    case "text":
      return part.text
    case "tool-call":
      return `${part.id} ${part.name} ${JSON.stringify(part.params)}`
    case "tool-result":
      return `${part.id} ${
        part.isFailure ? (part.result as { readonly code: string }).code : JSON.stringify(part.result)
      }`
    default:
      return part.type
  }
}

const shipped = (orderId: string) => JSON.stringify({ orderId, state: "shipped" })

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
