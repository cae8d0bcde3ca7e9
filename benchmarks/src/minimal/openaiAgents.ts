import { Agent, type Model, run, tool } from "@openai/agents"
import { z } from "zod"

const Double = tool({
  name: "double",
  description: "Doubles a number",
  parameters: z.object({ n: z.number() }),
  execute: ({ n }) => n * 2
})

export const double = async (model: Model, question: string): Promise<string> =>
  String((await run(new Agent({ name: "doubler", model, tools: [Double] }), question)).finalOutput)
