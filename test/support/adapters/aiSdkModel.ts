/** A scripted model of the AI SDK, by its own test kit. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { MockLanguageModelV4, simulateReadableStream } from "ai/test"
import type { Script } from "./loop.ts"

type Generated = Awaited<ReturnType<LanguageModelV4["doGenerate"]>>
type Prompt = Parameters<LanguageModelV4["doGenerate"]>[0]["prompt"]

const usage: Generated["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

const read = (script: Script, prompt: Prompt): void => {
  for (const message of prompt) {
    if (message.role !== "tool") continue
    for (const part of message.content) {
      if (part.type === "tool-result" && "value" in part.output) script.read(part.toolCallId, part.output.value)
    }
  }
}

const answer = (script: Script, prompt: Prompt) => {
  read(script, prompt)
  const { calls, text } = script.next()
  const content = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map(({ arguments: input, id, name }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: name,
      input
    }))
  ]
  const finishReason: Generated["finishReason"] = {
    unified: calls.length > 0 ? "tool-calls" : "stop",
    raw: undefined
  }
  return { content, finishReason, usage }
}

const partsOf = ({ content, finishReason }: ReturnType<typeof answer>): Array<LanguageModelV4StreamPart> => [
  { type: "stream-start", warnings: [] },
  ...content.flatMap((part): Array<LanguageModelV4StreamPart> =>
    part.type === "tool-call" ? [part] : [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: part.text },
      { type: "text-end", id: "t" }
    ]
  ),
  { type: "finish", usage, finishReason }
]

/** Makes the model of a script. */
export const scriptedModel = (script: Script): MockLanguageModelV4 =>
  new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => ({ ...answer(script, prompt), warnings: [] }),
    doStream: async ({ prompt }) => ({
      stream: simulateReadableStream({
        chunks: partsOf(answer(script, prompt)),
        initialDelayInMs: null,
        chunkDelayInMs: null
      })
    })
  })
