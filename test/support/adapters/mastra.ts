/** An agent of Mastra with a scripted model: with the adapter, and with tools of its own. */
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { Mastra } from "@recourse/mastra"
import { scriptedModel } from "./aiSdkModel.ts"
import { type Conversation, type Loop, type PlainLoop, Script } from "./loop.ts"

const converse = (
  tools: Record<string, unknown>,
  abortSignal: AbortSignal | undefined,
  { isStreamed, script: turns }: Pick<Conversation, "isStreamed" | "script">
) => {
  const script = new Script(turns)
  const agent = new Agent({
    id: "desk",
    name: "desk",
    instructions: "Help.",
    model: scriptedModel(script) as never,
    tools: tools as never
  })
  const options = { maxSteps: 10, ...(abortSignal === undefined ? undefined : { abortSignal }) }
  /** An aborted loop of Mastra ends without an error: the run has it. */
  const endOf = (text: string): string => {
    if (abortSignal?.aborted === true) throw abortSignal.reason
    return text
  }
  return script.end(async () => {
    if (isStreamed !== true) {
      const { error, text } = await agent.generate("Help.", options)
      if (error !== undefined) throw error
      return endOf(text)
    }
    const streamed = await agent.stream("Help.", options)
    let text = ""
    for await (const part of streamed.textStream) text += part
    return endOf(text)
  })
}

export const mastra: Loop = {
  name: "Mastra",
  converse: ({ run, signal, ...conversation }) =>
    converse(
      Mastra.tools(run),
      signal === undefined ? run.signal : AbortSignal.any([run.signal, signal]),
      conversation
    )
}

export const plainMastra: PlainLoop = {
  name: "Mastra",
  converse: (tools, script, signal) =>
    converse(
      Object.fromEntries(tools.map(({ description, execute, name, needsApproval, parameters }) => [
        name,
        createTool({
          id: name,
          description,
          inputSchema: parameters,
          requireApproval: needsApproval,
          execute: async (input: unknown, context: unknown) =>
            execute(input as never, (context as { readonly abortSignal?: AbortSignal }).abortSignal)
        } as never)
      ])),
      signal,
      { script }
    )
}
