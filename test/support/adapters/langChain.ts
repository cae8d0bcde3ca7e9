/** `createAgent` of LangChain with a scripted model: with the adapter, and with tools of its own. */
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages"
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs"
import { MemorySaver } from "@langchain/langgraph"
import { type AgentMiddleware, createAgent, humanInTheLoopMiddleware, tool } from "langchain"
import { LangChain } from "@recourse/langchain"
import { type Conversation, type Loop, type PlainLoop, Script } from "./loop.ts"

const isJson = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === "object"
  } catch {
    return false
  }
}

/** A chat model that parses its calls as those of providers do: text that is no JSON is an invalid call. */
class ScriptedModel extends BaseChatModel {
  private readonly script: Script

  constructor(script: Script) {
    super({})
    this.script = script
  }

  _llmType(): string {
    return "scripted"
  }

  override bindTools(): this {
    return this
  }

  private answer(messages: ReadonlyArray<BaseMessage>) {
    for (const message of messages) {
      if (message.type === "tool") {
        this.script.read((message as unknown as { tool_call_id: string }).tool_call_id, message.content)
      }
    }
    const { calls, text } = this.script.next()
    const [valid, invalid] = [true, false].map((is) => calls.filter((call) => isJson(call.arguments) === is))
    return {
      content: text,
      tool_calls: valid!.map(({ arguments: args, id, name }) => ({
        type: "tool_call" as const,
        id,
        name,
        args: JSON.parse(args) as Record<string, unknown>
      })),
      invalid_tool_calls: invalid!.map(({ arguments: args, id, name }) => ({
        type: "invalid_tool_call" as const,
        id,
        name,
        args,
        error: "Malformed args."
      }))
    }
  }

  async _generate(messages: ReadonlyArray<BaseMessage>): Promise<ChatResult> {
    const message = this.answer(messages)
    return { generations: [{ text: message.content, message: new AIMessage(message) }] }
  }

  override async *_streamResponseChunks(messages: ReadonlyArray<BaseMessage>): AsyncGenerator<ChatGenerationChunk> {
    const message = this.answer(messages)
    yield new ChatGenerationChunk({ text: message.content, message: new AIMessageChunk(message) })
  }
}

const textOf = (messages: ReadonlyArray<BaseMessage> | undefined): string => String(messages?.at(-1)?.content ?? "")

interface Settings {
  readonly tools: ReadonlyArray<unknown>
  readonly middleware: ReadonlyArray<AgentMiddleware>
  readonly signal: AbortSignal | undefined
}

const converse = (
  { middleware, signal, tools }: Settings,
  { isStreamed, script: turns }: Pick<Conversation, "isStreamed" | "script">
) => {
  const script = new Script(turns)
  const agent = createAgent({
    model: new ScriptedModel(script),
    tools: tools as never,
    middleware,
    ...(middleware.length > 0 ? { checkpointer: new MemorySaver() } : undefined)
  })
  const input = { messages: [{ role: "user", content: "Help." }] }
  const options = { configurable: { thread_id: "1" }, ...(signal === undefined ? undefined : { signal }) }
  return script.end(async () => {
    if (isStreamed !== true) return textOf((await agent.invoke(input, options)).messages)
    let last: { readonly messages?: ReadonlyArray<BaseMessage> } = {}
    for await (const state of await agent.stream(input, { ...options, streamMode: "values" })) last = state as never
    return textOf(last.messages)
  })
}

export const langChain: Loop = {
  name: "LangChain",
  converse: ({ run, signal, ...conversation }) =>
    converse({
      tools: [],
      middleware: [LangChain.middleware(run)],
      signal: signal === undefined ? run.signal : AbortSignal.any([run.signal, signal])
    }, conversation)
}

export const plainLangChain: PlainLoop = {
  name: "LangChain",
  converse: (tools, script, signal) => {
    const approved = tools.filter(({ needsApproval }) => needsApproval).map(({ name }) => [name, true] as const)
    return converse({
      tools: tools.map(({ description, execute, name, parameters }) =>
        tool((input: unknown, config: { readonly signal?: AbortSignal }) => execute(input as never, config.signal), {
          name,
          description,
          schema: parameters
        } as never)
      ),
      middleware: approved.length === 0
        ? []
        : [humanInTheLoopMiddleware({ interruptOn: Object.fromEntries(approved) } as never) as never],
      signal
    }, { script })
  }
}
