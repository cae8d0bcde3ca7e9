/** Vercel AI SDK with the mock model of its own test kit. */
import { generateText, isStepCount, streamText, tool as makeTool } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { z } from "zod"
import type { Contestant } from "../Contestant.ts"
import { executeOrRetry, instructions, question, script, type Task, tool, type Turn } from "../Task.ts"

type Stream = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"]
type StreamPart = Stream extends ReadableStream<infer Part> ? Part : never
type Generated = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>

const usage: Generated["usage"] = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined }
}

const finishReason = (turn: Turn): Generated["finishReason"] => ({
  unified: turn.calls.length > 0 ? "tool-calls" : "stop",
  raw: undefined
})

const callParts = (turn: Turn) =>
  turn.calls.map((call) => ({
    type: "tool-call" as const,
    toolCallId: call.id,
    toolName: call.name,
    input: call.arguments
  }))

const generated = (turn: Turn): Generated => ({
  content: [
    ...(turn.text.length === 0 ? [] : [{ type: "text" as const, text: turn.text.join("") }]),
    ...callParts(turn)
  ],
  finishReason: finishReason(turn),
  usage,
  warnings: []
})

const streamParts = (turn: Turn): Array<StreamPart> => [
  { type: "stream-start", warnings: [] },
  ...(turn.text.length === 0 ? [] : [
    { type: "text-start" as const, id: "t" },
    ...turn.text.map((delta) => ({ type: "text-delta" as const, id: "t", delta })),
    { type: "text-end" as const, id: "t" }
  ]),
  ...callParts(turn),
  { type: "finish", usage, finishReason: finishReason(turn) }
]

const streamOf = (parts: Array<StreamPart>): Stream => {
  let index = 0
  return new ReadableStream({
    pull: (controller) => index < parts.length ? controller.enqueue(parts[index++]!) : controller.close()
  })
}

const scriptedModel = (task: Task) => {
  const ask = script(task, 2, () => 2, (turn) => turn)
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      // The mock remembers all that it is asked, which would count as the SDK's memory.
      model.doGenerateCalls.length = 0
      return generated(await ask(prompt.length))
    },
    doStream: async ({ prompt }) => {
      model.doStreamCalls.length = 0
      return { stream: streamOf(streamParts(await ask(prompt.length))) }
    }
  })
  return model
}

const options = (task: Task) => ({
  model: scriptedModel(task),
  instructions,
  prompt: question,
  stopWhen: isStepCount(1_000_000),
  tools: {
    [tool.name]: makeTool({
      description: tool.description,
      inputSchema: z.object({ n: z.number() }),
      // The SDK retries model calls only; a thrown error goes to the model.
      execute: async ({ n }) => executeOrRetry(task, n)
    })
  }
})

export const contestant: Contestant = {
  prepare: async (task) => {
    const request = options(task)
    return async () => (await generateText(request)).text
  },
  prepareStream: async (task, onDelta) => {
    const request = options(task)
    return async () => {
      let text = ""
      for await (const delta of streamText(request).textStream) {
        text += delta
        onDelta(delta)
      }
      return text
    }
  },
  preparePause: async (task) => {
    const request = { ...options(task), toolApproval: { [tool.name]: "user-approval" } } as const
    return async () => {
      const { content, response } = await generateText(request)
      if (!content.some(({ type }) => type === "tool-approval-request")) throw new Error("The run does not wait")
      return response.messages
    }
  }
}
