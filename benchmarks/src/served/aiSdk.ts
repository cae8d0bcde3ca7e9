/** `streamText` of the AI SDK for a `useChat`, in a route of Hono, without storage. */
import { convertToModelMessages, simulateReadableStream, streamText, type UIMessage } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { Hono } from "hono"
import { type Handler, words } from "./Handler.ts"

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined }
}

export const handler = async (): Promise<Handler> => {
  const model: MockLanguageModelV4 = new MockLanguageModelV4({
    doStream: async () => {
      // The mock remembers all that it is asked, which would count as the SDK's work.
      model.doStreamCalls.length = 0
      return {
        stream: simulateReadableStream({
          initialDelayInMs: null,
          chunkDelayInMs: null,
          chunks: [
            { type: "stream-start", warnings: [] },
            { type: "text-start", id: "t" },
            ...words.map((delta) => ({ type: "text-delta" as const, id: "t", delta })),
            { type: "text-end", id: "t" },
            { type: "finish", usage, finishReason: { unified: "stop", raw: undefined } }
          ]
        })
      }
    }
  })
  const app = new Hono()
  app.post("/agents/clerk/chat", async (context) => {
    const { messages } = await context.req.json<{ readonly messages: Array<UIMessage> }>()
    return streamText({ model, messages: await convertToModelMessages(messages) }).toUIMessageStreamResponse()
  })
  return (request) => app.fetch(request)
}
