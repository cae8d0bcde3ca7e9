import { assert, describe, it } from "@effect/vitest"
import { Prompt, Response } from "effect/ai"

const run = new URL("../../src/internal/run/", import.meta.url)
const { messagesOf, toolResultPart } = await import(new URL("transcript.ts", run).href) as {
  readonly messagesOf: (content: ReadonlyArray<Response.AnyPart>) => ReadonlyArray<Prompt.Message>
  readonly toolResultPart: (
    id: string,
    name: string,
    isFailure: boolean,
    result: unknown,
    options: Prompt.ProviderOptions
  ) => Prompt.ToolResultPart
}

const metadata = { openai: { itemId: "item_1" } }
const call = { id: "c1", name: "pay", params: { order: 7 } }

const parts: ReadonlyArray<Response.AnyPart> = [
  Response.makePart("text", { text: "Paying." }),
  Response.makePart("text", { text: "Done.", metadata }),
  Response.makePart("reasoning", { text: "First the order." }),
  Response.makePart("tool-call", { ...call, providerExecuted: false }),
  Response.makePart("tool-call", { ...call, id: "c2", providerExecuted: true, metadata }),
  { ...Response.makePart("tool-call", { ...call, id: "c3", providerExecuted: false }), extra: 1 } as Response.AnyPart,
  { type: "tool-call", ...call, id: "c4" } as Response.AnyPart,
  Response.makePart("text-start", { id: "t1" }),
  Response.makePart("text-delta", { id: "t1", delta: "a" }),
  Response.makePart("text-end", { id: "t1" }),
  Response.makePart("response-metadata", { id: "r", modelId: "m", timestamp: undefined }),
  Response.makePart("finish", {
    reason: "stop",
    usage: new Response.Usage({
      inputTokens: { uncached: undefined, total: 1, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: undefined, reasoning: undefined }
    }),
    response: undefined
  })
]

describe("parts of a prompt", () => {
  it("equal effect's for answers of up to three parts", () => {
    const chosen: ReadonlyArray<Response.AnyPart | undefined> = [undefined, ...parts]
    for (const first of chosen) {
      for (const second of chosen) {
        for (const third of chosen) {
          const content = [first, second, third].filter((part) => part !== undefined)
          const expected = Prompt.fromResponseParts(content).content
          const messages = messagesOf(content)
          assert.deepStrictEqual(messages, expected)
          // Equal values may be written in another order.
          assert.strictEqual(JSON.stringify(messages), JSON.stringify(expected))
        }
      }
    }
  })

  it("equal effect's for results", () => {
    const options = { recourse: { repaired: { by: "fixer" } } }
    const expected = Prompt.toolResultPart({
      id: "c1",
      name: "pay",
      isFailure: true,
      result: { code: "rejected" },
      providerExecuted: false,
      options
    })
    const part = toolResultPart("c1", "pay", true, { code: "rejected" }, options)
    assert.deepStrictEqual(part, expected)
    assert.isTrue(Prompt.isPart(part))
  })
})
