import { generateText, isStepCount, type LanguageModel, tool } from "ai"
import { z } from "zod"

const tools = {
  double: tool({
    description: "Doubles a number",
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => n * 2
  })
}

export const double = async (model: LanguageModel, question: string): Promise<string> =>
  (await generateText({ model, prompt: question, tools, stopWhen: isStepCount(8) })).text
