import { Agent, type AgentInputItem, type Model, Runner, setTracingDisabled, Usage } from "@openai/agents"
import { OpenAiAgents } from "@recourse/openai-agents"
import { testAdapter } from "../../../test/support/adapters/testAdapter.ts"
import { type Loop, Script } from "../../../test/support/adapters/loop.ts"

type Response = Awaited<ReturnType<Model["getResponse"]>>

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

const read = (script: Script, input: string | ReadonlyArray<AgentInputItem>): void => {
  for (const item of typeof input === "string" ? [] : input) {
    if (item.type !== "function_call_result") continue
    const { callId, output } = item
    script.read(callId, typeof output === "object" && "text" in output ? output.text : output)
  }
}

const outputOf = (script: Script): Response["output"] => {
  const { calls, text } = script.next()
  return [
    ...calls.map((call) => ({
      type: "function_call" as const,
      callId: call.id,
      name: call.name,
      status: "completed" as const,
      arguments: call.arguments
    })),
    ...(text === "" ? [] : [{
      type: "message" as const,
      role: "assistant" as const,
      status: "completed" as const,
      content: [{ type: "output_text" as const, text }]
    }])
  ]
}

const scriptedModel = (script: Script): Model => ({
  getResponse: async ({ input }) => {
    read(script, input)
    return { usage: new Usage(usage), output: outputOf(script) }
  },
  async *getStreamedResponse({ input }) {
    read(script, input)
    yield { type: "response_started" }
    yield { type: "response_done", response: { id: "r", usage, output: outputOf(script) as never } }
  }
})

const loop: Loop = {
  name: "OpenAI Agents",
  converse: ({ isStreamed, run, script: turns, signal: outer }) => {
    setTracingDisabled(true)
    const script = new Script(turns)
    const agent = new Agent({ name: "desk", model: scriptedModel(script), tools: OpenAiAgents.tools(run) })
    const runner = new Runner({ tracingDisabled: true })
    const signal = outer === undefined ? run.signal : AbortSignal.any([run.signal, outer])
    return script.end(async () => {
      if (isStreamed !== true) return String((await runner.run(agent, "Help.", { signal })).finalOutput)
      const result = await runner.run(agent, "Help.", { stream: true, signal })
      for await (const _ of result) { /* until its end */ }
      await result.completed
      // An aborted stream ends without an error: the run has it.
      if (run.signal.aborted) throw run.signal.reason
      return String(result.finalOutput)
    })
  }
}

// The runner parses the arguments itself: text that is no JSON reaches no tool. It fails with `ModelBehaviorError` if the model
// calls a tool that is not there.
testAdapter(loop, ["brokenJson", "unknownTool"])
