/** Histories that strict servers take: ids and names of calls, roles, arguments, and results without text. */
import { assert, describe, it } from "@effect/vitest"
import type { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect } from "effect"
import { Prompt } from "effect/ai"
import { answering, generate } from "../support/harness.ts"
import { bodyOf } from "../support/requestBodies.ts"

const called = (id: string, name = "now", params: unknown = {}) => ({ type: "tool-call" as const, id, name, params })

const answered = (id: string, result: unknown = "noon") => ({
  type: "tool-result" as const,
  id,
  name: "now",
  isFailure: false,
  result
})

const conversation = (...messages: ReadonlyArray<unknown>) => Prompt.make(messages as never)

const turn = (call: ReturnType<typeof called>, result?: unknown) => [
  { role: "assistant", content: [call] },
  { role: "tool", content: [answered(call.id, result)] }
]

const messagesOf = (...messages: ReadonlyArray<unknown>) =>
  Effect.map(bodyOf(generate(conversation(...messages))), (body) => body.messages)

const question = { role: "user", content: "When?" }

describe("an id of a call", () => {
  const ids = ["a".repeat(41), "functions.now:0", "call 1", "ä"]

  it.effect("of another server is one that every server accepts", () =>
    Effect.gen(function*() {
      const messages = yield* messagesOf(question, ...ids.flatMap((id) => turn(called(id))))
      const sent = messages.flatMap((message: any) => message.tool_calls ?? []).map(({ id }: any) => id)
      for (const id of sent) assert.match(id, /^[A-Za-z0-9_-]{1,40}$/)
      assert.strictEqual(new Set(sent).size, ids.length)
      assert.deepStrictEqual(messages.flatMap((message: any) => message.tool_call_id ?? []), sent)
    }))

  it.effect("is returned unchanged to the server that gave it", () =>
    Effect.gen(function*() {
      for (const id of [...ids, "call_1__thought__AbC/+=="]) {
        const tool_calls = [{ id, type: "function", function: { name: "now", arguments: "{}" } }]
        const reply = { body: JSON.stringify({ choices: [{ message: { tool_calls }, finish_reason: "tool_calls" }] }) }
        const seen: Array<any> = []
        yield* Effect.gen(function*() {
          const { content } = yield* generate()
          const [call] = Prompt.fromResponseParts(content).content.flatMap((message) =>
            message.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : []
          )
          // A run may have changed the id.
          const changed = { ...call!, id: "call_changed" }
          yield* generate(conversation(question, { role: "assistant", content: [changed] }, {
            role: "tool",
            content: [answered("call_changed")]
          }))
        }).pipe(Effect.provide(answering(reply, {}, seen)))
        const { messages } = JSON.parse(new TextDecoder().decode(seen[1].body.body))
        assert.strictEqual(messages[1].tool_calls[0].id, id)
        assert.strictEqual(messages[2].tool_call_id, id)
      }
    }))
})

describe("a history", () => {
  it.effect("has names of tools that every server accepts", () =>
    Effect.gen(function*() {
      const names = ["now<|channel|>commentary", "functions.now", "n".repeat(90)]
      const messages = yield* messagesOf(question, ...names.flatMap((name, at) => turn(called(`c${at}`, name))))
      assert.deepStrictEqual(
        messages.flatMap((message: any) => message.tool_calls ?? []).map((call: any) => call.function.name),
        ["now__channel__commentary", "functions_now", "n".repeat(64)]
      )
    }))

  it.effect("has objects as arguments, and text as results", () =>
    Effect.gen(function*() {
      const messages = yield* messagesOf(question, ...turn(called("c1", "now", [1]), ""), ...turn(called("c2"), " "))
      assert.strictEqual(messages[1].tool_calls[0].function.arguments, `{"invalid_json":"[1]"}`)
      assert.deepStrictEqual(messages.flatMap((message: any) => message.tool_call_id ? [message.content] : []), [
        `""`,
        `" "`
      ])
    }))

  it.effect("has a message of the assistant between results and the user for models of Mistral", () =>
    Effect.gen(function*() {
      const prompt = conversation(question, ...turn(called("abcdefghi")), question)
      for (
        const [options, expected] of [
          [{ model: "mistralai/Devstral-Small-2" }, ["user", "assistant", "tool", "assistant", "user"]],
          [{ quirks: { roleAfterTool: "assistant" } }, ["user", "assistant", "tool", "assistant", "user"]],
          [{ model: "mistral-large", quirks: { roleAfterTool: "any" } }, ["user", "assistant", "tool", "user"]],
          [{}, ["user", "assistant", "tool", "user"]]
        ] as const
      ) {
        const { messages } = yield* bodyOf(generate(prompt), options)
        assert.deepStrictEqual(messages.map(({ role }: { role: string }) => role), expected)
      }
    }))

  it.effect("has one message for neighbours of one role, and none without content", () =>
    Effect.gen(function*() {
      const picture = { type: "file", mediaType: "image/png", data: new Uint8Array([1]) }
      const messages = yield* messagesOf(
        { role: "system", content: "A" },
        { role: "system", content: "B" },
        { role: "user", content: "one" },
        { role: "assistant", content: "" },
        { role: "user", content: "two" },
        { role: "user", content: [picture] },
        { role: "assistant", content: "yes" },
        { role: "assistant", content: "no" },
        { role: "user", content: "three" }
      )
      assert.deepStrictEqual(messages, [
        { role: "system", content: "A\n\nB" },
        {
          role: "user",
          content: [{ type: "text", text: "one\n\ntwo" }, {
            type: "image_url",
            image_url: { url: "data:image/png;base64,AQ==" }
          }]
        },
        { role: "assistant", content: "yes" },
        { role: "assistant", content: "no" },
        { role: "user", content: "three" }
      ])
    }))
})

describe("a call without reasoning", () => {
  it.effect("has a blank in the field that the server requires", () =>
    Effect.gen(function*() {
      const ofQuirks = (quirks: Partial<OpenAiCompatible.Quirks>) =>
        Effect.map(
          bodyOf(generate(conversation(question, ...turn(called("a")), { role: "assistant", content: "Noon." })), {
            quirks
          }),
          ({ messages }) => messages.map((message: any) => message.reasoning_content)
        )
      assert.deepStrictEqual(
        yield* ofQuirks({ reasoningHistory: "reasoning_content" }),
        [undefined, " ", undefined, undefined]
      )
      assert.deepStrictEqual(yield* ofQuirks({}), [undefined, undefined, undefined, undefined])
    }))
})
