/** OpenAI's Agents SDK over its own model for chat completions, tracing off. */
import { Agent, ModelBehaviorError, OpenAIProvider, Runner, setTracingDisabled, tool as makeTool } from "@openai/agents"
import { z } from "zod"
import { instructions, question, tool } from "../Task.ts"
import { baseUrl, model } from "./http.ts"
import type { ProviderContestant } from "./Provider.ts"
import { searchDescription, searchFields, toolName } from "./tools.ts"

const search = (name: string) =>
  makeTool({
    name,
    description: searchDescription,
    parameters: z.object({
      customer: z.string().describe(searchFields.customer),
      states: z.array(z.enum(searchFields.states)),
      // In its strict schemas a field that may be left out is one that may be null.
      limit: z.number().int().nullable().describe(searchFields.limit),
      between: z.object({ from: z.string(), to: z.string() }).nullable(),
      note: z.string().nullable().describe(searchFields.note)
    }),
    execute: async () => []
  })

const runnerOver = (fetch: typeof globalThis.fetch): Runner => {
  setTracingDisabled(true)
  // Its client takes the `fetch` of the process as it is made.
  globalThis.fetch = fetch
  const modelProvider = new OpenAIProvider({ apiKey: "key", baseURL: baseUrl, useResponses: false })
  return new Runner({ modelProvider, tracingDisabled: true })
}

export const contestant: ProviderContestant = {
  prepare: async ({ execute, fetch, onDelta, streamed, tools }) => {
    const runner = runnerOver(fetch)
    const agent = new Agent({
      name: "doubler",
      instructions,
      model,
      tools: [
        makeTool({
          name: tool.name,
          description: tool.description,
          parameters: z.object({ n: z.number() }),
          execute: async ({ n }) => execute(n)
        }),
        ...Array.from({ length: tools - 1 }, (_, index) => search(toolName(index + 1)))
      ]
    })
    if (!streamed) return async () => String((await runner.run(agent, question, { maxTurns: null })).finalOutput)
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
  prepareObject: async (fetch) => {
    const runner = runnerOver(fetch)
    const agent = new Agent({ name: "counter", instructions, model, outputType: z.object({ total: z.number() }) })
    return async () => {
      try {
        return String((await runner.run(agent, question)).finalOutput?.total)
      } catch (error) {
        // It corrects no answer itself: the program asks again with the reason.
        if (!(error instanceof ModelBehaviorError)) throw error
        const again = await runner.run(agent, [
          { role: "user", content: question },
          { role: "assistant", status: "completed", content: [{ type: "output_text", text: "{\"total\":\"many\"}" }] },
          { role: "user", content: error.message }
        ])
        return String(again.finalOutput?.total)
      }
    }
  }
}
