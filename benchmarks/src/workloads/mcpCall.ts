import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Agent, Budget, ModelProvider } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { Effect, Layer, Scope } from "effect"
import { LanguageModel } from "effect/ai"
import { FetchHttpClient } from "effect/http"
import { strictEqual } from "node:assert/strict"
import type { Run } from "../Contestant.ts"
import { scriptedModel } from "../contestants/effectModel.ts"
import { deepRuns, fewRounds } from "../Form.ts"
import { oneCall, processorPerRun } from "../measure.ts"
import { serverOf, url } from "../mcp/server.ts"
import { instructions, question, type Task } from "../Task.ts"
import { always, type Workload } from "../Workload.ts"

/** An agent's run with one call of the server's tool. */
const ofAgent = async (fetch: typeof globalThis.fetch): Promise<Run> => {
  const task: Task = { turns: oneCall, execute: (n) => n, onFailure: "none", modelDelay: 0 }
  const model = await scriptedModel(task, ModelProvider.make)
  const client = FetchHttpClient.layer.pipe(Layer.provideMerge(Layer.succeed(FetchHttpClient.Fetch, fetch)))
  const tools = await Effect.runPromise(
    Mcp.tools({ name: "scripted", connect: Mcp.http(url), options: () => ({ trust: "trusted" }), prefix: "" }).pipe(
      Effect.provide(client),
      Scope.provide(Scope.makeUnsafe())
    )
  )
  const agent = Agent.make("doubler", { instructions, tools, budget: Budget.unlimited })
  const run = Effect.provideService(agent.run(question), LanguageModel.LanguageModel, model)
  return () => Effect.runPromise(run as Effect.Effect<string>)
}

/** The call alone, by the client of the protocol's own SDK. */
const ofClient = async (fetch: typeof globalThis.fetch): Promise<Run> => {
  const client = new Client({ name: "bench", version: "1.0.0" })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch }))
  return async () => {
    const { content } = await client.callTool({ name: "double", arguments: { n: 21 } })
    const [part] = content
    return part?.type === "text" ? `It is ${part.text}.` : ""
  }
}

export const workload: Workload = {
  title: "A run with one call of an MCP tool over HTTP in memory; the floor is the call by the protocol's own client",
  contestants: ["floor", "recourse"],
  cases: always([1]),
  metrics: [{ name: "run", unit: "processor µs" }],
  rounds: fewRounds,
  measure: async ({ form, name }) => {
    let executions = 0
    const fetch = serverOf((n) => {
      executions++
      return n * 2
    })
    const once = await (name === "recourse" ? ofAgent(fetch) : ofClient(fetch))
    const run = async () => {
      executions = 0
      strictEqual(await once(), "It is 42.", "final text")
      strictEqual(executions, 1, "number of tool executions")
    }
    return { run: await processorPerRun(run, deepRuns[form]) }
  }
}
