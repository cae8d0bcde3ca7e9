/** Programs of many tools in the words of each library, for their cost to the compiler. */
import type { ContestantName } from "./Contestant.ts"

interface Program {
  readonly imports: string
  readonly tool: (index: number) => string
  /** The agent of these tools. */
  readonly agent: (names: ReadonlyArray<string>) => string
}

const list = (names: ReadonlyArray<string>): string => names.join(", ")

const zodFields = "z.object({ id: z.string(), count: z.number().int(), state: z.enum([\"open\", \"sent\"]) })"
const schemaFields =
  "Schema.Struct({ id: Schema.String, count: Schema.Int, state: Schema.Literals([\"open\", \"sent\"]) })"

export const programs: Partial<Record<ContestantName, Program>> = {
  "effect/ai": {
    imports: `import { Effect, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
export const used = [Effect, Schema, LanguageModel, Tool, Toolkit]
`,
    tool: (index) =>
      `const tool${index} = Tool.make("tool${index}", {
  description: "Tool ${index}",
  parameters: ${schemaFields},
  success: Schema.Struct({ total: Schema.Number })
})
`,
    agent: (names) =>
      `const toolkit = Toolkit.make(${list(names)})
const layer = toolkit.toLayer({
${names.map((name) => `  ${name}: ({ count }) => Effect.succeed({ total: count })`).join(",\n")}
})
export const run = LanguageModel.generateText({ prompt: "go", toolkit }).pipe(Effect.provide(layer))
`
  },
  recourse: {
    imports: `import { Effect, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"
export const used = [Effect, Schema, Agent, Recovery, Tool]
`,
    tool: (index) =>
      `const tool${index} = Tool.make("tool${index}", {
  description: "Tool ${index}",
  parameters: ${schemaFields},
  success: Schema.Struct({ total: Schema.Number }),
  effects: "read",
  execute: ({ count }) => Effect.succeed({ total: count })
})
`,
    agent: (names) =>
      `export const agent = Agent.make("agent", { tools: [${list(names)}], defaults: { onError: Recovery.standard } })
export const run = agent.run("go")
`
  },
  "AI SDK": {
    imports: `import { generateText, type LanguageModel, tool } from "ai"
import { z } from "zod"
export const used = [generateText, tool, z]
`,
    tool: (index) =>
      `const tool${index} = tool({
  description: "Tool ${index}",
  inputSchema: ${zodFields},
  execute: async ({ count }) => ({ total: count })
})
`,
    agent: (names) =>
      `export const run = (model: LanguageModel) => generateText({ model, prompt: "go", tools: { ${list(names)} } })
`
  },
  "OpenAI Agents": {
    imports: `import { Agent, run, tool } from "@openai/agents"
import { z } from "zod"
export const used = [Agent, run, tool, z]
`,
    tool: (index) =>
      `const tool${index} = tool({
  name: "tool${index}",
  description: "Tool ${index}",
  parameters: ${zodFields},
  execute: async ({ count }) => ({ total: count })
})
`,
    agent: (names) =>
      `export const agent = new Agent({ name: "agent", tools: [${list(names)}] })
export const ran = run(agent, "go")
`
  },
  "LangChain": {
    imports: `import type { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { createAgent, tool } from "langchain"
import { z } from "zod"
export const used = [createAgent, tool, z]
`,
    tool: (index) =>
      `const tool${index} = tool(({ count }) => ({ total: count }), {
  name: "tool${index}",
  description: "Tool ${index}",
  schema: ${zodFields}
})
`,
    agent: (names) =>
      `export const run = (model: BaseChatModel) =>
  createAgent({ model, tools: [${list(names)}] }).invoke({ messages: [{ role: "user", content: "go" }] })
`
  }
}

/** The source of a program with so many tools; with none it only imports. */
export const sourceOf = (name: ContestantName, tools: number): string => {
  const program = programs[name]
  if (program === undefined) throw new Error(`${name} has no program of many tools`)
  if (tools === 0) return program.imports
  const all = Array.from({ length: tools }, (_, index) => index)
  return program.imports + all.map(program.tool).join("") + program.agent(all.map((index) => `tool${index}`))
}
