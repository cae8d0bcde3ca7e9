import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Data, Effect, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, History, Recovery, Tool } from "@recourse/core"

const text = (text: string) => Prompt.textPart({ text })
const thought = (text: string) => Prompt.reasoningPart({ text })
const call = (id: string, providerExecuted = false) =>
  Prompt.toolCallPart({ id, name: "find", params: {}, providerExecuted })
const done = (id: string, providerExecuted = false) =>
  Prompt.toolResultPart({ id, name: "find", isFailure: false, result: id, providerExecuted })
const failed = (id: string, providerExecuted = false) =>
  Prompt.toolResultPart({ id, name: "find", isFailure: true, result: id, providerExecuted })
const user = (said: string) => Prompt.userMessage({ content: [text(said)] })
const assistant = (...content: ReadonlyArray<Prompt.AssistantMessagePart>) => Prompt.assistantMessage({ content })
const tool = (...content: ReadonlyArray<Prompt.ToolMessagePart>) => Prompt.toolMessage({ content })

/** A conversation in short: the role of each message, and its parts as text, call id, or `=id` for a result. */
const brief = (prompt: Prompt.Prompt): ReadonlyArray<string> =>
  prompt.content.map(({ content, role }) =>
    `${role}: ${
      typeof content === "string"
        ? content
        : content.map((part) =>
          part.type === "tool-call"
            ? part.id
            : part.type === "tool-result"
            ? `=${part.id}`
            : part.type === "text" || part.type === "reasoning"
            ? part.text
            : part.type
        ).join(" ")
    }`
  )

const left = (...messages: ReadonlyArray<Prompt.Message>) =>
  brief(History.withoutFailedCalls(Prompt.fromMessages(messages)))

describe("withoutFailedCalls", () => {
  it("removes a failed call with its result, and messages emptied by that", () => {
    assert.deepStrictEqual(
      left(user("hi"), assistant(call("a")), tool(failed("a")), assistant(text("no"))),
      ["user: hi", "assistant: no"]
    )
  })

  it("keeps a successful sibling and the text next to a failed call", () => {
    assert.deepStrictEqual(
      left(assistant(text("I look"), call("a"), call("b")), tool(failed("a"), done("b"))),
      ["assistant: I look b", "tool: =b"]
    )
  })

  it("joins only the answers around a removed message", () => {
    const apart = [assistant(text("one")), assistant(text("two"))]
    assert.deepStrictEqual(left(...apart), ["assistant: one", "assistant: two"])
    const joined = History.withoutFailedCalls(Prompt.fromMessages([
      Prompt.assistantMessage({ content: [text("I look"), call("a")], options: { x: { first: true } } }),
      tool(failed("a")),
      assistant(call("b")),
      tool(failed("b")),
      Prompt.assistantMessage({ content: [text("no")], options: { y: { second: true } } })
    ]))
    assert.deepStrictEqual(brief(joined), ["assistant: I look no"])
    assert.deepStrictEqual(joined.content[0]?.options, { x: { first: true }, y: { second: true } })
  })

  it("removes reasoning with the calls that it led to", () => {
    assert.deepStrictEqual(
      [
        left(assistant(thought("why a"), call("a")), tool(failed("a"))),
        left(
          assistant(thought("why a"), thought("and how"), call("a"), thought("why b"), call("b")),
          tool(failed("a"), done("b"))
        ),
        left(assistant(thought("why both"), call("a"), call("b")), tool(failed("a"), done("b"))),
        left(assistant(thought("why"), text("I look"), call("a")), tool(failed("a"))),
        left(assistant(call("a"), thought("after")), tool(failed("a"))),
        left(assistant(thought("only"), text("said")))
      ],
      [
        [],
        ["assistant: why b b", "tool: =b"],
        ["assistant: why both b", "tool: =b"],
        ["assistant: why I look"],
        [],
        ["assistant: only said"]
      ]
    )
  })

  it("leaves no empty text behind, which some providers refuse", () => {
    assert.deepStrictEqual(left(assistant(text(""), call("a")), tool(failed("a"))), [])
    assert.deepStrictEqual(left(assistant(text(""))), ["assistant: "])
  })

  it("treats provider-executed calls with results in the answer alike", () => {
    assert.deepStrictEqual(
      left(
        assistant(call("s1", true), failed("s1", true), call("s2", true), done("s2", true), text("found"), call("a")),
        tool(failed("a"))
      ),
      ["assistant: s2 =s2 found"]
    )
  })

  it("removes calls without results and results without calls", () => {
    assert.deepStrictEqual(
      left(
        tool(done("x")),
        assistant(call("a"), call("b")),
        tool(done("b"), done("b")),
        user("and?"),
        assistant(call("c"))
      ),
      ["assistant: b", "tool: =b", "user: and?"]
    )
  })

  it("distinguishes calls of different turns with the same id", () => {
    assert.deepStrictEqual(
      left(
        assistant(call("call_1")),
        tool(done("call_1")),
        user("again"),
        assistant(call("call_1")),
        tool(failed("call_1"))
      ),
      ["assistant: call_1", "tool: =call_1", "user: again"]
    )
  })

  it("takes the approvals of a call with it", () => {
    const asked = (id: string) => Prompt.toolApprovalRequestPart({ approvalId: `approval-${id}`, toolCallId: id })
    const answered = (id: string) => Prompt.toolApprovalResponsePart({ approvalId: `approval-${id}`, approved: true })
    const history = (result: Prompt.ToolResultPart) =>
      left(assistant(call("a"), asked("a")), tool(answered("a")), tool(result))
    assert.deepStrictEqual(history(failed("a")), [])
    assert.deepStrictEqual(history(done("a")), [
      "assistant: a tool-approval-request",
      "tool: tool-approval-response",
      "tool: =a"
    ])
  })

  it("keeps the repaired arguments of a call at its result", () => {
    const repaired = Prompt.toolResultPart({
      id: "a",
      name: "find",
      isFailure: false,
      result: 1,
      providerExecuted: false,
      options: { recourse: { repaired: { arguments: "{\"id\":\"7\"}", by: "fixer" } } }
    })
    const messages = [user("hi"), assistant(call("a")), tool(repaired)]
    for (const [index, message] of History.withoutFailedCalls(Prompt.fromMessages(messages)).content.entries()) {
      assert.strictEqual(message, messages[index])
    }
  })

  it.effect("keeps the successful calls of a run that ended with an error", () =>
    Effect.gen(function*() {
      class Gone extends Data.TaggedError("Gone") {}
      const Find = Tool.make("find", {
        parameters: Schema.Struct({ id: Schema.String }),
        success: Schema.String,
        effects: "read",
        execute: ({ id }) => id === "gone" ? Effect.fail(new Gone()) : Effect.succeed(id)
      }).pipe(Tool.onError(Recovery.escalate("InvalidArgs")))
      const { exit, transcript } = yield* Agent.make("finder", { tools: [Find] }).report("Find them")
      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual(brief(transcript), [
        "user: Find them",
        "assistant: call_1 call_2",
        "tool: =call_1 =call_2",
        "assistant: call_3",
        "tool: =call_3"
      ])
      assert.deepStrictEqual(brief(History.withoutFailedCalls(transcript)), [
        "user: Find them",
        "assistant: call_1",
        "tool: =call_1"
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.calls([{ name: "find", params: { id: "7" } }, { name: "find", params: {} }]),
      ScriptedModel.call("find", { id: "gone" })
    ]))))
})

// --- for any conversation -------------------------------------------------------------------------------------------

const Id = Schema.Literals(["a", "b", "c"])
const Said = Schema.TaggedStruct("Said", {
  by: Schema.Literals(["user", "assistant"]),
  text: Schema.Literals(["", "x"])
})
const Step = Schema.Union([
  Schema.TaggedStruct("Text", { text: Schema.Literals(["", "x"]) }),
  Schema.TaggedStruct("Thought", {}),
  Schema.TaggedStruct("Call", { id: Id }),
  Schema.TaggedStruct("Ask", { id: Id }),
  Schema.TaggedStruct("Result", { id: Id, isFailure: Schema.Boolean })
])
const Answer = Schema.TaggedStruct("Answer", {
  steps: Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(6))
})
const Results = Schema.TaggedStruct("Results", {
  steps: Schema.Array(
    Schema.Union([
      Schema.TaggedStruct("Result", { id: Id, isFailure: Schema.Boolean }),
      Schema.TaggedStruct("Allow", { id: Id })
    ])
  ).check(Schema.isMinLength(1), Schema.isMaxLength(4))
})
const Conversation = Schema.Array(Schema.Union([Said, Answer, Results])).check(Schema.isMaxLength(10))

const part = (step: typeof Step.Type): Prompt.AssistantMessagePart => {
  switch (step._tag) {
    case "Text":
      return text(step.text)
    case "Thought":
      return thought("hm")
    case "Call":
      return call(step.id)
    case "Ask":
      return Prompt.toolApprovalRequestPart({ approvalId: step.id, toolCallId: step.id })
    case "Result":
      return step.isFailure ? failed(step.id, true) : done(step.id, true)
  }
}

const promptOf = (conversation: typeof Conversation.Type): Prompt.Prompt =>
  Prompt.fromMessages(conversation.map((message) =>
    message._tag === "Said"
      ? message.by === "user" ? user(message.text) : assistant(text(message.text))
      : message._tag === "Answer"
      ? assistant(...message.steps.map(part))
      : tool(
        ...message.steps.map((step) =>
          step._tag === "Allow"
            ? Prompt.toolApprovalResponsePart({ approvalId: step.id, approved: true })
            : step.isFailure
            ? failed(step.id)
            : done(step.id)
        )
      )
  ))

const partsOf = (prompt: Prompt.Prompt): ReadonlyArray<Prompt.Part> =>
  prompt.content.flatMap((message): ReadonlyArray<Prompt.Part> => message.role === "system" ? [] : message.content)

/** Returns the open calls of each id after each part, or the fault. */
const wrong = (prompt: Prompt.Prompt): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const open = new Set<string>()
  for (const part of partsOf(prompt)) {
    if (part.type === "tool-call") {
      if (open.has(part.id)) problems.push(`${part.id} is called again before its result`)
      open.add(part.id)
    } else if (part.type === "tool-result") {
      if (!open.delete(part.id)) problems.push(`a result of ${part.id} without its call`)
      if (part.isFailure) problems.push(`${part.id} failed`)
    }
  }
  return [...problems, ...[...open].map((id) => `${id} has no result`)]
}

/** True if the first parts are among the second, in the same order. */
const isWithin = (parts: ReadonlyArray<Prompt.Part>, all: ReadonlyArray<Prompt.Part>): boolean => {
  let next = 0
  for (const part of all) if (part === parts[next]) next++
  return next === parts.length
}

const usersOf = (prompt: Prompt.Prompt) => prompt.content.filter(({ role }) => role === "user")

/** The calls that have a result which is no failure, by a reading of its own: each result looks back for its call. */
const answered = (prompt: Prompt.Prompt): ReadonlyArray<Prompt.Part> => {
  const parts = partsOf(prompt)
  return parts.flatMap((part, index) => {
    if (part.type !== "tool-result" || part.isFailure) return []
    const before = parts.slice(0, index).findLast((other) =>
      (other.type === "tool-call" || other.type === "tool-result") && other.id === part.id
    )
    return before?.type === "tool-call" ? [before, part] : []
  })
}

describe("withoutFailedCalls of any conversation", () => {
  it.effect.prop(
    "keeps any conversation well formed, in order, complete and idempotent",
    [Conversation],
    ([drawn]) =>
      Effect.sync(() => {
        const prompt = promptOf(drawn)
        const history = History.withoutFailedCalls(prompt)
        assert.deepStrictEqual(wrong(history), [])
        assert.isTrue(isWithin(partsOf(history), partsOf(prompt)))
        assert.deepStrictEqual(usersOf(history), usersOf(prompt))
        for (const part of answered(prompt)) assert.include(partsOf(history), part)
        assert.deepStrictEqual(History.withoutFailedCalls(history), history)
        // No message is emptied, and none is cut down to reasoning.
        const isThought = ({ type }: Prompt.Part) => type === "reasoning"
        const thoughts = partsOf(Prompt.fromMessages(prompt.content.filter((message) =>
          partsOf(Prompt.fromMessages([message])).every(isThought)
        )))
        for (const message of history.content) {
          const parts = partsOf(Prompt.fromMessages([message]))
          assert.notStrictEqual(parts.length, 0)
          if (parts.every(isThought)) {
            assert.isTrue(parts.every((part) =>
              thoughts.includes(part)
            ))
          }
        }
      }),
    { arbitrary: { runs: 2000 } }
  )
})
