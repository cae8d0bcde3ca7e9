import { generateText, isStepCount, streamText } from "ai"
import { AiSdkTools } from "@recourse/ai-sdk"
import { scriptedModel } from "./support/scriptedModel.ts"
import { testAdapter } from "../../../test/support/adapters/testAdapter.ts"
import { type Loop, Script } from "../../../test/support/adapters/loop.ts"

const loop: Loop = {
  name: "AI SDK 7",
  converse: ({ isStreamed, run, script: turns, signal }) => {
    const script = new Script(turns)
    const settings = {
      model: scriptedModel(script),
      prompt: "Help.",
      stopWhen: isStepCount(10),
      maxRetries: 0,
      ...AiSdkTools.settings(run, { abortSignal: signal })
    }
    return script.end(async () => {
      if (isStreamed !== true) return (await generateText(settings)).text
      let error: unknown
      const streamed = streamText({ ...settings, onError: (event) => void (error = event.error) })
      let text = ""
      for await (const part of streamed.stream) {
        if (part.type === "text-delta") text += part.text
        if (part.type === "abort") error ??= run.signal.reason
      }
      if (error !== undefined) throw error
      return text
    })
  }
}

testAdapter(loop)
