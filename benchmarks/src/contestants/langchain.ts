/** LangChain's `createAgent` with a scripted chat model; retries by its own middleware. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages"
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs"
import { MemorySaver } from "@langchain/langgraph"
import { createAgent, humanInTheLoopMiddleware, tool as makeTool, toolRetryMiddleware } from "langchain"
import { z } from "zod"
import type { Contestant } from "../Contestant.ts"
import { instructions, question, script, type Task, tool, type Turn } from "../Task.ts"

const toolCalls = (turn: Turn) =>
  turn.calls.map((call) => ({
    type: "tool_call" as const,
    id: call.id,
    name: call.name,
    args: JSON.parse(call.arguments) as Record<string, unknown>
  }))

class ScriptedModel extends BaseChatModel {
  readonly ask: (length: number) => Turn | Promise<Turn>

  constructor(task: Task) {
    super({})
    this.ask = script(task, 2, ({ calls }) => 1 + calls.length, (turn) => turn)
  }

  _llmType(): string {
    return "scripted"
  }

  override bindTools(): this {
    return this
  }

  async _generate(messages: ReadonlyArray<BaseMessage>): Promise<ChatResult> {
    const turn = await this.ask(messages.length)
    const text = turn.text.join("")
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls: toolCalls(turn) }) }] }
  }

  override async *_streamResponseChunks(
    messages: ReadonlyArray<BaseMessage>,
    _options: unknown,
    manager?: Parameters<BaseChatModel["_generate"]>[2]
  ): AsyncGenerator<ChatGenerationChunk> {
    const turn = await this.ask(messages.length)
    if (turn.calls.length > 0) {
      yield new ChatGenerationChunk({
        text: "",
        message: new AIMessageChunk({ content: "", tool_calls: toolCalls(turn) })
      })
    }
    for (const text of turn.text) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) })
      yield chunk
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}

const doubleOf = (task: Task) =>
  makeTool(({ n }: { readonly n: number }) => task.execute(n), {
    name: tool.name,
    description: tool.description,
    schema: z.object({ n: z.number() })
  })

const agentFor = (task: Task) =>
  createAgent({
    model: new ScriptedModel(task),
    systemPrompt: instructions,
    tools: [doubleOf(task)],
    middleware: task.onFailure === "retry"
      ? [toolRetryMiddleware({ maxRetries: 2, initialDelayMs: 0, jitter: false, onFailure: "error" })]
      : []
  })

const input = { messages: [{ role: "user", content: question }] }
const recursionLimit = 1_000_000

export const contestant: Contestant = {
  prepare: async (task) => {
    const agent = agentFor(task)
    return async () => (await agent.invoke(input, { recursionLimit })).messages.at(-1)!.text
  },
  prepareStream: async (task, onDelta) => {
    const agent = agentFor(task)
    return async () => {
      let text = ""
      for await (const [message] of await agent.stream(input, { recursionLimit, streamMode: "messages" })) {
        if (!AIMessageChunk.isInstance(message) || message.text === "") continue
        text += message.text
        onDelta(message.text)
      }
      return text
    }
  },
  preparePause: async (task) => {
    const saver = new MemorySaver()
    const agent = createAgent({
      model: new ScriptedModel(task),
      systemPrompt: instructions,
      tools: [doubleOf(task)],
      middleware: [humanInTheLoopMiddleware({ interruptOn: { [tool.name]: true } })],
      checkpointer: saver
    })
    let threads = 0
    return async () => {
      const result = await agent.invoke(input, { recursionLimit, configurable: { thread_id: String(threads++) } })
      if (!("__interrupt__" in result)) throw new Error("The run does not wait")
      return saver
    }
  }
}
