/** Vercel AI SDK over its own provider for chat completions. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import {
  generateText,
  isStepCount,
  type ModelMessage,
  NoObjectGeneratedError,
  Output,
  streamText,
  tool as makeTool
} from "ai"
import { z } from "zod"
import { instructions, question, tool } from "../Task.ts"
import { baseUrl, model } from "./http.ts"
import type { ProviderContestant } from "./Provider.ts"
import { searchDescription, searchFields, toolName } from "./tools.ts"

const search = () =>
  makeTool({
    description: searchDescription,
    inputSchema: z.object({
      customer: z.string().describe(searchFields.customer),
      states: z.array(z.enum(searchFields.states)),
      limit: z.number().int().optional().describe(searchFields.limit),
      between: z.object({ from: z.string(), to: z.string() }).optional(),
      note: z.string().nullable().describe(searchFields.note)
    }),
    execute: async () => []
  })

export const providerOver = (fetch: typeof globalThis.fetch) =>
  createOpenAICompatible({
    name: "scripted",
    baseURL: baseUrl,
    apiKey: "key",
    fetch,
    includeUsage: true,
    supportsStructuredOutputs: true
  })

export const contestant: ProviderContestant = {
  prepare: async ({ execute, fetch, onDelta, streamed, tools }) => {
    const others = Object.fromEntries(Array.from({ length: tools - 1 }, (_, index) => [toolName(index + 1), search()]))
    const request = {
      model: providerOver(fetch)(model),
      instructions,
      prompt: question,
      stopWhen: isStepCount(1_000_000),
      tools: {
        [tool.name]: makeTool({
          description: tool.description,
          inputSchema: z.object({ n: z.number() }),
          execute: async ({ n }) => execute(n)
        }),
        ...others
      }
    }
    if (!streamed) return async () => (await generateText(request)).text
    return async () => {
      let text = ""
      for await (const delta of streamText(request).textStream) {
        text += delta
        onDelta(delta)
      }
      return text
    }
  },
  prepareObject: async (fetch) => {
    const request = {
      model: providerOver(fetch)(model),
      instructions,
      output: Output.object({ schema: z.object({ total: z.number() }) })
    }
    const asked: ModelMessage = { role: "user", content: question }
    return async () => {
      try {
        return String((await generateText({ ...request, messages: [asked] })).output.total)
      } catch (error) {
        // It corrects no answer itself: the program asks again with the reason.
        if (!NoObjectGeneratedError.isInstance(error)) throw error
        const messages: Array<ModelMessage> = [
          asked,
          { role: "assistant", content: error.text ?? "" },
          { role: "user", content: String(error.cause) }
        ]
        return String((await generateText({ ...request, messages })).output.total)
      }
    }
  }
}
