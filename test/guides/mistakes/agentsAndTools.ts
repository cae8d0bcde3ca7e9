/** Mistakes in the options of agents and tools: refused by the compiler, and at run time in plain JavaScript. */
import type { Mistake } from "./mistake.ts"

export const agentsAndTools: ReadonlyArray<Mistake> = [
  {
    wrote: "Agent.make(\"a\", { system: \"Be kind.\" })",
    remedy: "`instructions: \"Be kind.\"`"
  },
  {
    wrote: "Agent.make(\"a\", { maxSteps: 8 })",
    remedy: "`budget: { turns: 8 }`. [Budgets](budgets.md)"
  },
  {
    wrote: "Agent.make(\"a\", { maxRetries: 2 })",
    remedy: "Nothing if the transport retries already; else `onModelError`. [The layers of retry](retries.md)"
  },
  {
    wrote: "Agent.make(\"a\", { onFinish: () => {} })",
    remedy: "Provide a listener: `AgentEvent.listen`. [Streaming and events](streaming.md)"
  },
  {
    wrote: "Agent.make(\"a\", { tols: [weather] })",
    remedy: "Write the name that the message has"
  },
  {
    wrote: "Agent.make(\"a\", { tools: { weather } })",
    remedy: "`tools: [weather]`"
  },
  {
    wrote: "Agent.make(\"a\", { tools: [helper] })",
    remedy: "`tools: [Agent.asTool(helper, \"helper\", …)]`. [Several agents](several-agents.md)"
  },
  {
    wrote: "Agent.make(\"a\", { instructions: [\"Be kind.\"] })",
    remedy: "One text, or a function that returns one"
  },
  {
    wrote: "Agent.make(\"a\", { tools: [weather], defaults: { onError: Recovery.retry({ times: 2 }) } })",
    remedy: "`Recovery.standard`, another preset, or `Recovery.policy`. [Presets](presets.md)"
  },
  {
    wrote: "Tool.make(\"t\", { parameter: city, execute })",
    remedy: "`parameters: city`"
  },
  {
    wrote: "Tool.make(\"t\", { parameters: z.object({ city: z.string() }), execute })",
    remedy: "`Schema.Struct` of effect, or [`Tool.fromStandardSchema`](parameters.md)"
  },
  {
    wrote: "Tool.make(\"t\", { parameters: { city: \"string\" }, execute })",
    remedy: "`parameters: Schema.Struct({ city: Schema.String })`"
  },
  {
    wrote: "Tool.make(\"t\", { parameters: { type: \"object\" }, execute })",
    remedy: "`Tool.fromJsonSchema(\"t\", …)`"
  },
  {
    wrote: "Tool.make(\"t\", { parameters: city })",
    remedy: "Add `execute`"
  },
  {
    wrote: "Tool.make(\"t\", { success: z.string(), execute: () => Effect.succeed(\"rain\") })",
    remedy: "`success: Schema.String`"
  },
  {
    wrote: "Agent.make(\"a\", { output: z.object({ city: z.string() }) })",
    remedy: "`output: Schema.Struct({ city: Schema.String })`. [Structured output](structured-output.md)"
  },
  {
    wrote: "Agent.make({ name: \"a\", instructions: \"Be kind.\" })",
    remedy: "`Agent.make(\"a\", { instructions: \"Be kind.\" })`"
  },
  {
    wrote: "Agent.make(\"a\", {}).run(\"Hi\", { abortSignal: AbortSignal.timeout(1000) })",
    remedy: "`Effect.runPromise(agent.run(\"Hi\"), { signal })`"
  },
  {
    wrote: "Tool.make(\"t\", { effects: \"reads\", execute })",
    remedy: "`\"read\"`, `\"idempotent\"` or `\"write\"`"
  },
  {
    wrote: "Tool.make(\"t\", { timeout: \"5 secs\", execute })",
    remedy: "`timeout: \"5 seconds\"`"
  }
]
