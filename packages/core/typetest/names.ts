/** Sentences of the compiler about options: names of other libraries, and values of other kinds. */
import { Effect, Schema } from "effect"
import { Agent, Tool } from "@recourse/core"

const execute = () => Effect.void

// @ts-expect-error There is no "system" here. Use instructions.
Agent.make("a", { system: "Be kind." })
// @ts-expect-error There is no "maxSteps" here. Use budget: { turns: 8 }.
Agent.make("a", { maxSteps: 8 })
// @ts-expect-error There is no "onFinish" here. Use AgentEvent.listen.
Agent.make("a", { onFinish: () => {} })
// @ts-expect-error There is no "inputSchema" here. Use parameters.
Tool.make("t", { inputSchema: Schema.Struct({}), execute })
// @ts-expect-error There is no "parameter" here. Use parameters.
Tool.make("t", { parameter: Schema.Struct({}), execute })
// @ts-expect-error There is no "handler" here. Use execute.
Tool.make("t", { handler: execute, execute })
// @ts-expect-error There is no "tols" here. Did you mean "tools"?
Agent.make("a", { tols: [] })
// @ts-expect-error parameters is a Schema of effect
Tool.make("t", { parameters: { city: "string" }, execute })
// @ts-expect-error tools is a list
Agent.make("a", { tools: { t: Tool.make("t", { execute }) } })
