/** OpenAI's Agents SDK with a scripted implementation of its `Model`, tracing off. */
import { Agent, type Model, Runner, setTracingDisabled, tool as makeTool, Usage } from "@openai/agents"
import { z } from "zod"
import type { Contestant } from "../Contestant.ts"
import { executeOrRetry, instructions, question, script, type Task, tool, type Turn } from "../Task.ts"

type Response = Awaited<ReturnType<Model["getResponse"]>>

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }

const output = (turn: Turn): Response["output"] => [
  ...turn.calls.map((call) => ({
    type: "function_call" as const,
    callId: call.id,
    name: call.name,
    status: "completed" as const,
    arguments: call.arguments
  })),
  ...(turn.text.length === 0 ? [] : [{
    type: "message" as const,
    role: "assistant" as const,
    status: "completed" as const,
    content: [{ type: "output_text" as const, text: turn.text.join("") }]
  }])
]

const scriptedModel = (task: Task): Model => {
  const ask = script(task, 1, ({ calls }) => 2 * calls.length, (turn) => turn)
  return {
    getResponse: async ({ input }) => ({ usage: new Usage(usage), output: output(await ask(input.length)) }),
    async *getStreamedResponse({ input }) {
      const turn = await ask(input.length)
      yield { type: "response_started" }
      for (const delta of turn.text) yield { type: "output_text_delta", delta }
      yield { type: "response_done", response: { id: "r", usage, output: output(turn) as never } }
    }
  }
}

const agentFor = (task: Task, needsApproval = false) =>
  new Agent({
    name: "doubler",
    instructions,
    model: scriptedModel(task),
    tools: [makeTool({
      name: tool.name,
      description: tool.description,
      parameters: z.object({ n: z.number() }),
      needsApproval,
      // The model reads its exceptions, unless none are expected.
      ...(task.onFailure === "tell" ? undefined : { errorFunction: null }),
      execute: async ({ n }) => executeOrRetry(task, n)
    })]
  })

const makeRunner = () => {
  setTracingDisabled(true)
  return new Runner({ tracingDisabled: true })
}

export const contestant: Contestant = {
  prepare: async (task) => {
    const agent = agentFor(task)
    const runner = makeRunner()
    return async () => String((await runner.run(agent, question, { maxTurns: null })).finalOutput)
  },
  prepareStream: async (task, onDelta) => {
    const agent = agentFor(task)
    const runner = makeRunner()
    return async () => {
      const result = await runner.run(agent, question, { maxTurns: null, stream: true })
      for await (const event of result) {
        if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") {
          onDelta(event.data.delta)
        }
      }
      await result.completed
      return String(result.finalOutput)
    }
  },
  preparePause: async (task) => {
    const agent = agentFor(task, true)
    const runner = makeRunner()
    return async () => {
      const { interruptions, state } = await runner.run(agent, question, { maxTurns: null })
      if (interruptions.length === 0) throw new Error("The run does not wait")
      return state
    }
  }
}
