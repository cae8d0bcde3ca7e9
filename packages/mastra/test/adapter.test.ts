import { Agent } from "@mastra/core/agent"
import type { ToolRun } from "@recourse/core"
import { Mastra } from "@recourse/mastra"
import { scriptedModel } from "../../ai-sdk/test/support/scriptedModel.ts"
import { testAdapter } from "../../../test/support/adapters/testAdapter.ts"
import { type Loop, Script } from "../../../test/support/adapters/loop.ts"

/** An aborted loop of Mastra ends without an error: the run has it. */
const endOf = (run: ToolRun.Any, text: string): string => {
  if (run.signal.aborted) throw run.signal.reason
  return text
}

const loop: Loop = {
  name: "Mastra",
  converse: ({ isStreamed, run, script: turns, signal }) => {
    const script = new Script(turns)
    const agent = new Agent({
      id: "desk",
      name: "desk",
      instructions: "Help.",
      model: scriptedModel(script) as never,
      tools: Mastra.tools(run)
    })
    const options = {
      maxSteps: 10,
      abortSignal: signal === undefined ? run.signal : AbortSignal.any([run.signal, signal])
    }
    return script.end(async () => {
      if (isStreamed !== true) {
        const { error, text } = await agent.generate("Help.", options)
        if (error !== undefined) throw error
        return endOf(run, text)
      }
      const streamed = await agent.stream("Help.", options)
      let text = ""
      for await (const part of streamed.textStream) text += part
      return endOf(run, text)
    })
  }
}

// Mastra gives a tool `{}` if the arguments are no JSON: their text reaches no tool.
testAdapter(loop, ["brokenJson"])
