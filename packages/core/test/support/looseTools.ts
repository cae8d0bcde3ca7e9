/** Tools without types of their own, for tests that make them in tables: of any options, and of agents. */
import { Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"

export type AnyTool = Tool.Tool<string, Schema.Struct<{}>, Schema.String, never, never>

export const toolOf = (name: string, options: object): AnyTool =>
  Tool.make(name, { success: Schema.String, ...options } as never) as never

/** An agent as a tool that continues after any failure of its tool. */
export const clerkOf = (name: string, tool: AnyTool, more?: object): AnyTool =>
  Agent.make("bookkeeper", {
    input: Schema.Struct({}),
    prompt: () => "pay",
    tools: [tool],
    defaults: { onError: Recovery.keepGoing }
  }).pipe(
    Agent.asTool(name, { description: "Pays", parameters: Schema.Struct({}), success: Schema.String, ...more })
  ) as never
