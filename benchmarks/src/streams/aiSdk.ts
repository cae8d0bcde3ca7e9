/**
 * AI SDK on `node:http`, by its documentation: the page's messages go to a model, and its answer is a UI message
 * stream, without storage and joining readers.
 */
import {
  convertToModelMessages,
  pipeUIMessageStreamToResponse,
  streamText,
  toUIMessageStream,
  type UIMessage
} from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { deltaText, reports, shape } from "./shape.ts"

type Stream = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"]
type Part = Stream extends ReadableStream<infer Part> ? Part : never
type Asked = Parameters<MockLanguageModelV4["doStream"]>[0]

const { rate } = shape()

/** Number of deltas that the user requests. */
const countOf = ({ prompt }: Asked): number => {
  const last = prompt.at(-1)
  const part = last?.role === "user" ? last.content[0] : undefined
  return part?.type === "text" ? Number(part.text) : 0
}

const finish: Part = {
  type: "finish",
  finishReason: { unified: "stop", raw: undefined },
  usage: {
    inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 10, text: 10, reasoning: undefined }
  }
}

/** An answer of so many deltas at the pace: one timer, like the other servers. */
const answer = (count: number): Stream => {
  let sent = 0
  let timer: NodeJS.Timeout
  return new ReadableStream<Part>({
    start: (controller) => {
      controller.enqueue({ type: "stream-start", warnings: [] })
      controller.enqueue({ type: "text-start", id: "0" })
      timer = setInterval(() => {
        controller.enqueue({ type: "text-delta", id: "0", delta: deltaText() })
        if (++sent < count) return
        clearInterval(timer)
        controller.enqueue({ type: "text-end", id: "0" })
        controller.enqueue(finish)
        controller.close()
      }, 1000 / rate)
    },
    cancel: () => clearInterval(timer)
  })
}

const model = new MockLanguageModelV4({
  doStream: (asked) => {
    // The mock remembers all that it is asked, which would count as the SDK's memory.
    model.doStreamCalls.length = 0
    return Promise.resolve({ stream: answer(countOf(asked)) })
  }
})

const messagesOf = async (request: IncomingMessage): Promise<ReadonlyArray<UIMessage>> =>
  (JSON.parse(await text(request)) as { readonly messages: ReadonlyArray<UIMessage> }).messages

const server = createServer((request, response) => {
  void (async () => {
    const result = streamText({ model, messages: await convertToModelMessages([...await messagesOf(request)]) })
    await pipeUIMessageStreamToResponse({ response, stream: toUIMessageStream({ stream: result.stream }) })
  })()
})

server.listen(0, "127.0.0.1", () => reports((server.address() as AddressInfo).port))
