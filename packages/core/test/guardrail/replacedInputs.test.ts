/**
 * Inputs that a guard replaces, in chats: later models read the replacement, people the original, and completed calls
 * stay known.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Option, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import {
  Agent,
  AgentEvent,
  Approval,
  Conversation,
  EventJson,
  Guardrail,
  History,
  Recovery,
  Tool
} from "@recourse/core"

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ amount: Schema.Number }),
  success: Schema.String,
  effects: "write",
  execute: ({ amount }) => Effect.succeed(`paid ${amount}`)
})

const AskedPay = Tool.make("pay", {
  parameters: Schema.Struct({ amount: Schema.Number }),
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: ({ amount }) => Effect.succeed(`paid ${amount}`)
})

const textIn = ({ content }: Prompt.Message): string =>
  typeof content === "string"
    ? content
    : content.map((part) =>
      part.type === "text"
        ? part.text
        : part.type === "tool-call"
        ? `call ${part.name}`
        : part.type === "tool-result"
        ? `result ${String(part.result)}`
        : part.type
    ).join(" ")

const lines = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> =>
  messages.map((message) => `${message.role}: ${textIn(message)}`)

/** Hides card numbers in users' messages; returns `undefined` if there are none. */
const hidesCards = (conversation: Prompt.Prompt) => {
  const hidden = Prompt.fromMessages(
    conversation.content.map((message) =>
      message.role === "user" && /\d{4}/.test(textIn(message))
        ? Prompt.userMessage({ content: [Prompt.textPart({ text: textIn(message).replace(/\d{4}/, "[card]") })] })
        : message
    )
  )
  return Effect.succeed(
    hidden.content.some((message, n) => message !== conversation.content[n]) ? Guardrail.change(hidden) : undefined
  )
}

/** Leaves out all but the last message. */
const lastOnly = ({ content }: Prompt.Prompt) =>
  Effect.succeed(content.length > 1 ? Guardrail.change(Prompt.fromMessages(content.slice(-1))) : undefined)

/** Removes the model's messages. */
const usersOnly = ({ content }: Prompt.Prompt) =>
  Effect.succeed(
    content.some(({ role }) => role !== "user")
      ? Guardrail.change(Prompt.fromMessages(content.filter(({ role }) => role === "user")))
      : undefined
  )

const talks = {
  input: Prompt.Prompt,
  prompt: (conversation: Prompt.Prompt) => conversation,
  defaults: { onError: Recovery.standard },
  budget: { turns: 10 }
} as const

const key = { owner: "ada", thread: "t1" }

type Clerk =
  & Agent.Agent<Prompt.Prompt, unknown, unknown, never>
  & Agent.Resumable<Prompt.Prompt, unknown, unknown, never, never>

/**
 * Sends messages in a chat, and approves pending calls behind each; returns the model's last and next prompt, and the
 * people's view.
 */
const chatOf = (agent: unknown, turns: Iterable<ScriptedModel.Turn>, says: ReadonlyArray<Prompt.RawInput>) =>
  Effect.gen(function*() {
    const clerk = agent as Clerk
    for (const message of says) {
      let { exit, stored } = yield* Conversation.send(clerk, { ...key, message })
      assert.isTrue(Exit.isSuccess(stored))
      const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
      if (error instanceof Approval.ApprovalRequired) {
        const decisions = error.pending.map((call) => Approval.approve(call))
        ;({ exit, stored } = yield* Conversation.resume(clerk, { ...key, decisions }))
      }
      assert.isTrue(Exit.isSuccess(exit) && Exit.isSuccess(stored), String(exit))
    }
    const { requests } = yield* ScriptedModel.ScriptedModel
    const { entries } = yield* (yield* Conversation.Conversations).read(key)
    return {
      asked: lines((yield* requests).at(-1)!.prompt.content),
      next: lines(Conversation.toPrompt(entries).content),
      shown: lines(Conversation.visibleMessages(entries).map(({ message }) => message))
    }
  }).pipe(Effect.provide([
    Conversation.layerMemory,
    ScriptedModel.layer(turns),
    Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
  ]))

const inFrench = (text: string): Prompt.RawInput => [
  Prompt.systemMessage({ content: "Speak French." }),
  Prompt.userMessage({ content: [Prompt.textPart({ text })] })
]

const pays = ScriptedModel.call("pay", { amount: 5 }, { id: "p" })

/** The first request of a turn whose input is replaced is interrupted: it runs in parallel to the guard. */
const unheard = ScriptedModel.text("unheard")

describe("an input that a guard has replaced", () => {
  const clerk = Agent.make("clerk", { ...talks, tools: [Pay], guardInput: hidesCards })
  const turns = [unheard, pays, ScriptedModel.text("Paid."), ScriptedModel.text("Welcome.")]
  const says = ["Pay 5 with 4242", "Thanks"]
  const next = [
    "user: Pay 5 with [card]",
    "assistant: call pay",
    "tool: result paid 5",
    "assistant: Paid.",
    "user: Thanks",
    "assistant: Welcome."
  ]

  it.effect("reaches the next turn's model; people see each original message once", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* chatOf(clerk, turns, says), {
        asked: next.slice(0, -1),
        next,
        shown: ["user: Pay 5 with 4242", ...next.slice(1)]
      })
    }))

  const billing = Agent.make("billing", { ...talks, instructions: "You know bills.", tools: [Pay] })
  const triage = Agent.make("triage", {
    ...talks,
    instructions: "Find out who can help.",
    tools: [Agent.handoffTo("billing", { description: "Questions about bills" })],
    guardInput: hidesCards
  })
  const asking = Agent.make("clerk", {
    ...talks,
    tools: [AskedPay],
    guardInput: hidesCards,
    approval: { timeToLive: "1 hour" }
  })
  const made: Readonly<Record<string, readonly [agent: unknown, turns: ReadonlyArray<ScriptedModel.Turn>]>> = {
    "of an agent that waits for a person": [asking, turns],
    "of an agent that is branched to": [
      Agent.branch("desk", (_: Prompt.Prompt) => true, { onTrue: clerk, onFalse: billing }),
      turns
    ],
    "of an agent that is undone around it": [clerk.pipe(Agent.compensated({ after: ["failure"] })), turns],
    "of the first that has the conversation": [
      Agent.handoff("support", { start: "triage", agents: { triage, billing } } as never),
      [
        unheard,
        ScriptedModel.call("transfer_to_billing", {}),
        pays,
        ScriptedModel.text("Paid."),
        ScriptedModel.text("Welcome.")
      ]
    ]
  }
  for (const [name, [agent, turns]] of Object.entries(made)) {
    it.effect(`is read on, ${name}`, () =>
      Effect.gen(function*() {
        const chat = yield* chatOf(agent, turns, says)
        assert.deepStrictEqual(chat.next, next)
        assert.deepStrictEqual(chat.shown, ["user: Pay 5 with 4242", ...next.slice(1)])
      }))
  }

  it.effect("drops messages, and no call: completed calls stay known", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", { ...talks, tools: [Pay], guardInput: lastOnly })
      const turns = [pays, ScriptedModel.text("Paid."), unheard, ScriptedModel.text("Welcome."), unheard, unheard]
      const { next, shown } = yield* chatOf(clerk, turns, ["Pay 5", "Thanks"])
      assert.deepStrictEqual(next, [
        "assistant: call pay",
        "tool: result paid 5",
        "user: Thanks",
        "assistant: Welcome."
      ])
      assert.deepStrictEqual(shown, [
        "user: Pay 5",
        "assistant: call pay",
        "tool: result paid 5",
        "assistant: Paid.",
        "user: Thanks",
        "assistant: Welcome."
      ])
    }))

  it.effect("keeps dropped calls at their positions, without the text around them", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", { ...talks, tools: [Pay], guardInput: usersOnly })
      const beside = ScriptedModel.calls([{ name: "pay", params: { amount: 5 }, id: "p" }], { text: "I pay." })
      const turns = [beside, ScriptedModel.text("Paid."), unheard, ScriptedModel.text("Welcome.")]
      const { next, shown } = yield* chatOf(clerk, turns, ["Pay 5", "Thanks"])
      assert.deepStrictEqual(next, [
        "user: Pay 5",
        "assistant: call pay",
        "tool: result paid 5",
        "user: Thanks",
        "assistant: Welcome."
      ])
      assert.include(shown, "assistant: I pay. call pay")
    }))

  it.effect("has a rewritten result's call once, with the dropped ones", () =>
    Effect.gen(function*() {
      const hides = ({ content }: Prompt.Prompt) =>
        Effect.succeed(
          content.some(({ role }) => role === "tool")
            ? Guardrail.change(Prompt.fromMessages(content.map((message) => {
              if (message.role === "assistant") {
                const kept = message.content.filter((part) => part.type !== "tool-call" || part.id === "p")
                return Prompt.assistantMessage({ content: kept })
              }
              if (message.role !== "tool") return message
              return Prompt.toolMessage({
                content: message.content.flatMap((part) =>
                  part.type === "tool-result" && part.id === "p"
                    ? [Prompt.toolResultPart({ ...part, result: "[hidden]" })]
                    : []
                )
              })
            })))
            : undefined
        )
      const clerk = Agent.make("clerk", { ...talks, tools: [Pay], guardInput: hides })
      const both = ScriptedModel.calls([
        { name: "pay", params: { amount: 5 }, id: "p" },
        { name: "pay", params: { amount: 6 }, id: "q" }
      ])
      const turns = [both, ScriptedModel.text("Paid."), unheard, ScriptedModel.text("Welcome.")]
      const { next } = yield* chatOf(clerk, turns, ["Pay 5 and 6", "Thanks"])
      assert.deepStrictEqual(next, [
        "user: Pay 5 and 6",
        "assistant: call pay",
        "tool: result paid 6",
        "assistant: call pay",
        "tool: result [hidden]",
        "assistant: Paid.",
        "user: Thanks",
        "assistant: Welcome."
      ])
    }))

  const without = (role: "assistant" | "tool") => ({ content }: Prompt.Prompt) =>
    Effect.succeed(
      content.some((message) => message.role === role)
        ? Guardrail.change(Prompt.fromMessages(content.filter((message) => message.role !== role)))
        : undefined
    )
  for (
    const [what, role, rest] of [
      ["a call whose result alone it has left", "assistant", []],
      ["a result whose call alone it has left", "tool", ["assistant: Paid."]]
    ] as const
  ) {
    it.effect(`has ${what}: neither alone shows the outcome`, () =>
      Effect.gen(function*() {
        const clerk = Agent.make("clerk", { ...talks, tools: [Pay], guardInput: without(role) })
        const turns = [pays, ScriptedModel.text("Paid."), unheard, ScriptedModel.text("Welcome.")]
        const { next } = yield* chatOf(clerk, turns, ["Pay 5", "Thanks"])
        assert.deepStrictEqual(next, [
          "user: Pay 5",
          "assistant: call pay",
          "tool: result paid 5",
          ...rest,
          "user: Thanks",
          "assistant: Welcome."
        ])
      }))
  }

  it.effect("drops a file next to a dropped call", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", { ...talks, tools: [Pay], guardInput: lastOnly })
      const bill = Prompt.userMessage({
        content: [Prompt.filePart({ mediaType: "text/plain", data: "Pay 5" }), Prompt.textPart({ text: "Pay this" })]
      })
      const turns = [pays, ScriptedModel.text("Paid."), unheard, ScriptedModel.text("Welcome.")]
      const { next } = yield* chatOf(clerk, turns, [[bill], "Thanks"])
      assert.deepStrictEqual(next, [
        "assistant: call pay",
        "tool: result paid 5",
        "user: Thanks",
        "assistant: Welcome."
      ])
    }))

  it.effect("has no empty message: of rewritten results, or of the system", () =>
    Effect.gen(function*() {
      const hides = ({ content }: Prompt.Prompt) =>
        Effect.succeed(
          content.some(({ role }) => role === "tool")
            ? Guardrail.change(Prompt.fromMessages(content.flatMap((message) =>
              message.role === "system"
                ? []
                : message.role !== "tool"
                ? message
                : Prompt.toolMessage({
                  content: message.content.map((part) =>
                    part.type === "tool-result" ? Prompt.toolResultPart({ ...part, result: "[hidden]" }) : part
                  )
                })
            )))
            : undefined
        )
      const clerk = Agent.make("clerk", { ...talks, tools: [Pay], guardInput: hides })
      const turns = [pays, ScriptedModel.text("Paid."), unheard, ScriptedModel.text("Welcome.")]
      const { next } = yield* chatOf(clerk, turns, [inFrench("Pay 5"), "Thanks"])
      assert.deepStrictEqual(next, [
        "user: Pay 5",
        "assistant: call pay",
        "tool: result [hidden]",
        "assistant: Paid.",
        "user: Thanks",
        "assistant: Welcome."
      ])
    }))

  it.effect("may say something of the system: that is read on", () =>
    Effect.gen(function*() {
      const { next: read } = yield* chatOf(clerk, turns, [inFrench("Pay 5 with 4242"), "Thanks"])
      assert.deepStrictEqual(read, ["system: Speak French.", ...next])
    }))

  it.effect("drops no call when it is shortened too", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", {
        ...talks,
        tools: [Pay],
        guardInput: usersOnly,
        compact: { maxTokens: 1, by: History.keepLast(1) }
      })
      const turns = [pays, ScriptedModel.text("Paid."), unheard, ScriptedModel.text("Welcome.")]
      const { next } = yield* chatOf(clerk, turns, ["Pay 5", "Thanks"])
      assert.includeMembers([...next], ["assistant: call pay", "tool: result paid 5"])
      assert.strictEqual(next.filter((line) => line === "assistant: call pay").length, 1)
      assert.notInclude(next, "user: Pay 5")
    }))

  it.effect("is shortened as another one", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", {
        ...talks,
        tools: [Pay],
        guardInput: hidesCards,
        compact: { maxTokens: 1, by: History.keepLast(1) }
      })
      const { next } = yield* chatOf(clerk, turns, says)
      assert.notInclude(next.join(), "4242")
    }))

  it.effect("is in the record and the last event, only if replaced", () =>
    Effect.gen(function*() {
      const ends: Array<AgentEvent.RunFinished> = []
      const { replacedInput } = yield* clerk.report(Prompt.make("Pay 5 with 4242"))
      assert.deepStrictEqual(lines(replacedInput!.content), ["user: Pay 5 with [card]"])
      assert.notProperty(yield* clerk.report(Prompt.make("Hello")), "replacedInput")
      yield* clerk.run(Prompt.make("Pay 5 with 4242")).pipe(
        Effect.provide(AgentEvent.listen((event) =>
          Effect.sync(() => {
            if (event._tag === "RunFinished") ends.push(event)
          })
        ))
      )
      const told = EventJson.decode(JSON.parse(JSON.stringify(EventJson.encode(ends[0]!))))
      assert.isTrue(Option.isSome(told) && told.value._tag === "RunFinished")
      const { replacedInput: read } = (told as Option.Some<AgentEvent.RunFinished>).value
      assert.deepStrictEqual(lines(read!.content), ["user: Pay 5 with [card]"])
    }).pipe(Effect.provide(ScriptedModel.layer(() => ScriptedModel.text("Well.")))))
})
