/** The runner of OpenAI Agents with a scripted model: with the adapter, and with tools of its own. */
import { Agent, type AgentInputItem, type Model, Runner, setTracingDisabled, tool, Usage } from "@openai/agents"
import { OpenAiAgents } from "@recourse/openai-agents"
import { type Conversation, type Loop, type PlainLoop, Script } from "./loop.ts"

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

const converse = (
  tools: ReadonlyArray<unknown>,
  signal: AbortSignal | undefined,
  { isStreamed, script: turns }: Pick<Conversation, "isStreamed" | "script">
) => {
  setTracingDisabled(true)
  const script = new Script(turns)
  const agent = new Agent({ name: "desk", model: scriptedModel(script), tools: tools as never })
  const runner = new Runner({ tracingDisabled: true })
  const options = signal === undefined ? {} : { signal }
  return script.end(async () => {
    if (isStreamed !== true) return String((await runner.run(agent, "Help.", options)).finalOutput)
    const result = await runner.run(agent, "Help.", { stream: true, ...options })
    for await (const _ of result) { /* until its end */ }
    await result.completed
    // An aborted stream ends without an error: the run has it.
    if (signal?.aborted === true) throw signal.reason
    return String(result.finalOutput)
  })
}

export const openAiAgents: Loop = {
  name: "OpenAI Agents",
  converse: ({ run, signal, ...conversation }) =>
    converse(
      OpenAiAgents.tools(run),
      signal === undefined ? run.signal : AbortSignal.any([run.signal, signal]),
      conversation
    )
}

export const plainOpenAiAgents: PlainLoop = {
  name: "OpenAI Agents",
  converse: (tools, script, signal) =>
    converse(
      tools.map(({ description, execute, name, needsApproval, parameters }) =>
        tool({
          name,
          description,
          parameters,
          needsApproval,
          execute: (input: unknown, _context: unknown, details?: { readonly signal?: AbortSignal }) =>
            execute(input as never, details?.signal)
        } as never)
      ),
      signal,
      { script }
    )
}
