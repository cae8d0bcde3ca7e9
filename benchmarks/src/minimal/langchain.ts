import type { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { createAgent, tool } from "langchain"
import { z } from "zod"

const Double = tool(({ n }) => n * 2, {
  name: "double",
  description: "Doubles a number",
  schema: z.object({ n: z.number() })
})

export const double = async (model: BaseChatModel, question: string): Promise<string> =>
  (await createAgent({ model, tools: [Double] }).invoke({ messages: [{ role: "user", content: question }] })).messages
    .at(-1)!.text
