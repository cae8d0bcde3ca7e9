/** Messages of a request: history, pictures, files. */

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import { generate, model } from "../support/harness.ts"
import * as Server from "../support/server.ts"
import { bodyOf, history, ok } from "../support/requestBodies.ts"

describe("a request", () => {
  it.effect("has calls, results and failures by id, arguments as valid JSON", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf(generate(history))
      assert.deepStrictEqual(body.messages, [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Count" },
        {
          role: "assistant",
          content: "I count.",
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "parse", arguments: "{\"json\":\"{}\"}" } },
            {
              id: "call_2",
              type: "function",
              function: { name: "parse", arguments: "{\"invalid_json\":\"{json: 1\"}" }
            }
          ]
        },
        { role: "tool", tool_call_id: "call_1", content: "0" },
        { role: "tool", tool_call_id: "call_2", content: "{\"code\":\"invalid_arguments\"}" },
        { role: "assistant", content: "Zero." },
        { role: "user", content: "Again" }
      ])
    }))

  it.effect("has past answers' texts and calls, and no empty parts", () =>
    Effect.gen(function*() {
      const called = (id: string) => ({ type: "tool-call" as const, id, name: "now", params: {} })
      const result = (id: string, more: object) => ({
        type: "tool-result" as const,
        id,
        name: "now",
        isFailure: false,
        result: null,
        ...more
      })
      const { messages } = yield* bodyOf(
        generate(Prompt.make([
          { role: "user", content: [] },
          { role: "assistant", content: [{ type: "reasoning", text: "Hm." }] },
          { role: "assistant", content: [called("abc123XYZ"), called("abc123XYZ9"), called("-abc123XYZ")] },
          {
            role: "tool",
            content: [
              result("abc123XYZ", {}),
              result("abc123XYZ9", { modelOutput: [{ type: "text", text: "shown" }] }),
              { type: "tool-approval-response", approvalId: "1", approved: true }
            ]
          },
          { role: "tool", content: [{ type: "tool-approval-response", approvalId: "2", approved: true }] },
          {
            role: "assistant",
            content: [{ ...called("theirs"), providerExecuted: true }, { type: "text", text: "It is " }, {
              type: "text",
              text: "noon."
            }]
          }
        ] as never)),
        { quirks: { reasoningHistory: "reasoning", toolCallId: "nine-alphanumerics" } }
      )
      const ids = messages[1].tool_calls.map(({ id }: { id: string }) => id)
      assert.deepStrictEqual(messages.map(({ tool_calls: _, ...rest }: Record<string, unknown>) => rest), [
        { role: "user", content: [] },
        { role: "assistant", content: null },
        { role: "tool", tool_call_id: ids[0], content: "null" },
        { role: "tool", tool_call_id: ids[1], content: "shown" },
        { role: "assistant", content: "It is noon." }
      ])
      assert.strictEqual(ids[0], "abc123XYZ")
      for (const id of ids) assert.match(id, /^[A-Za-z0-9]{9}$/)
      assert.strictEqual(new Set(ids).size, 3)
      assert.deepStrictEqual(messages.map((message: object) => "tool_calls" in message), [
        false,
        true,
        false,
        false,
        false
      ])
    }))

  it.effect("has no instructions without messages", () =>
    Effect.gen(function*() {
      const { messages } = yield* bodyOf(generate([]), { quirks: { tools: "inline" } })
      assert.deepStrictEqual(messages.map(({ role }: { role: string }) => role), ["system"])
    }))

  it.effect("carries images, sound and files", () =>
    Effect.gen(function*() {
      const bytes = new Uint8Array([1, 2, 3])
      const body = yield* bodyOf(generate([{
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "file", mediaType: "image/png", data: bytes },
          { type: "file", mediaType: "image/*", data: new URL("https://example.com/a.jpg") },
          { type: "file", mediaType: "image/png", data: "https://example.com/b.png" },
          { type: "file", mediaType: "image/png", data: "AQID" },
          { type: "file", mediaType: "image/*", data: bytes },
          { type: "file", mediaType: "image/png", data: "data:image/png;base64,AQID" },
          { type: "file", mediaType: "audio/mpeg", data: bytes },
          { type: "file", mediaType: "audio/mp3", data: bytes },
          { type: "file", mediaType: "audio/wav", data: bytes },
          { type: "file", mediaType: "audio/x-wav", data: "data:audio/x-wav;rate=8000;base64,AQID" },
          { type: "file", mediaType: "application/pdf", fileName: "a.pdf", data: bytes },
          { type: "file", mediaType: "text/plain", data: new Uint8Array([0xff, 0xfe]) },
          { type: "file", mediaType: "text/plain", data: new TextEncoder().encode("Grüße") },
          { type: "file", mediaType: "application/json", fileName: "a.json", data: "data:application/json;base64,e30=" }
        ]
      }]))
      assert.deepStrictEqual(body.messages, [{
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
          { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
          { type: "image_url", image_url: { url: "https://example.com/b.png" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
          { type: "image_url", image_url: { url: "data:image/jpeg;base64,AQID" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
          { type: "input_audio", input_audio: { data: "AQID", format: "mp3" } },
          { type: "input_audio", input_audio: { data: "AQID", format: "mp3" } },
          { type: "input_audio", input_audio: { data: "AQID", format: "wav" } },
          { type: "input_audio", input_audio: { data: "AQID", format: "wav" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AQID" } },
          { type: "file", file: { filename: "file", file_data: "data:text/plain;base64,//4=" } },
          { type: "text", text: "Grüße" },
          { type: "text", text: "File a.json:\n{}" }
        ]
      }])
    }))

  it.effect("omits pictures and approval answers, which the protocol lacks", () =>
    Effect.gen(function*() {
      const drawn = Prompt.make([
        { role: "user", content: "Draw" },
        {
          role: "assistant",
          content: [{ type: "text", text: "Drawn." }, {
            type: "file",
            mediaType: "image/png",
            data: new Uint8Array([1])
          }]
        },
        { role: "tool", content: [{ type: "tool-approval-response", approvalId: "approval_1", approved: true }] }
      ])
      for (const tools of ["native", "inline"] as const) {
        const { messages } = yield* bodyOf(LanguageModel.generateText({ prompt: drawn }), { quirks: { tools } })
        assert.deepStrictEqual(messages, [{ role: "user", content: "Draw" }, { role: "assistant", content: "Drawn." }])
      }
    }))

  it.effect("is not sent with a file that the protocol cannot carry", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(ok)
      const addresses = [
        new URL("https://example.com/a.pdf"),
        "https://example.com/a.pdf",
        "https://example.com/data:x;base64,AQID",
        "data:text/plain,;base64,AQID"
      ]
      for (const data of addresses) {
        const error = yield* generate([{
          role: "user",
          content: [{ type: "file", mediaType: "application/pdf", data }]
        }]).pipe(Effect.flip, Effect.provide(model(server.url)))
        assert.strictEqual(error.reason._tag, "InvalidUserInputError")
      }
      assert.strictEqual(server.requests.length, 0)
    }))
})
