/** `generateText` and `streamText` of the AI SDK with a scripted model: with the adapter, and with tools of its own. */
import { generateText, isStepCount, streamText, tool, type ToolSet } from "ai"
import { AiSdkTools } from "@recourse/ai-sdk"
import { scriptedModel } from "./aiSdkModel.ts"
import { type Conversation, type Loop, type PlainLoop, Script } from "./loop.ts"

interface Settings {
  readonly tools: ToolSet
  readonly abortSignal?: AbortSignal | undefined
}

const converse = (given: Settings, { isStreamed, script: turns }: Pick<Conversation, "isStreamed" | "script">) => {
  const script = new Script(turns)
  const { abortSignal, ...others } = given
  const settings = {
    model: scriptedModel(script),
    prompt: "Help.",
    stopWhen: isStepCount(10),
    maxRetries: 0,
    ...others,
    ...(abortSignal === undefined ? undefined : { abortSignal })
  }
  return script.end(async () => {
    if (isStreamed !== true) return (await generateText(settings)).text
    let error: unknown
    const streamed = streamText({ ...settings, onError: (event) => void (error = event.error) })
    let text = ""
    for await (const part of streamed.stream) {
      if (part.type === "text-delta") text += part.text
      if (part.type === "abort") error ??= abortSignal?.reason
    }
    if (error !== undefined) throw error
    return text
  })
}

export const aiSdk: Loop = {
  name: "AI SDK 7",
  converse: (conversation) =>
    converse(AiSdkTools.settings(conversation.run, { abortSignal: conversation.signal }), conversation)
}

export const plainAiSdk: PlainLoop = {
  name: "AI SDK 7",
  converse: (tools, script, signal) =>
    converse({
      tools: Object.fromEntries(tools.map(({ description, execute, name, needsApproval, parameters }) => [
        name,
        tool({
          description,
          inputSchema: parameters,
          needsApproval,
          execute: (input: unknown, { abortSignal }: { readonly abortSignal?: AbortSignal }) =>
            execute(input as never, abortSignal)
        } as never)
      ])),
      abortSignal: signal
    }, { script })
}
