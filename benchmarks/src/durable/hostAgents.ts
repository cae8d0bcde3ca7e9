/** Agents of the comparison of hosts: one takes steps without time, one waits for a person, and one takes a step each 50 ms. */
import { PgClient } from "@effect/sql-pg"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Redacted, Schema } from "effect"
import { clusterPlace } from "./clusterPlace.ts"
import { answer } from "./engine.ts"

/** A host of durable runs. */
export type HostName = "sql" | "cluster"

const defaults = { onError: Recovery.keepGoing }
const parameters = Schema.Struct({ n: Schema.Int })
const success = Schema.String

/** The agents. `onStep` is called at each step of the slow one. */
export const hostAgents = (onStep: (run: string) => void) => {
  const Look = Tool.make("look", {
    parameters,
    success,
    effects: "read",
    execute: ({ n }) => Effect.succeed(answer(n))
  })
  const Pace = Tool.make("pace", {
    parameters: Schema.Struct({ run: Schema.String, n: Schema.Int }),
    success,
    effects: "read",
    execute: ({ run }) => Effect.as(Effect.delay(Effect.sync(() => onStep(run)), "50 millis"), "paced")
  })
  const Ask = Tool.make("ask", {
    success,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.succeed("asked")
  })
  const budget = { turns: 1_000_000 }
  return {
    worker: Durable.make(Agent.make("worker", { tools: [Look], budget, defaults })),
    pacer: Durable.make(Agent.make("pacer", { tools: [Pace], budget, defaults })),
    waiter: Durable.make(Agent.make("waiter", { tools: [Ask], defaults }))
  }
}

/** Their model. */
export const model = ScriptedModel.layer(({ prompt, tools }) => {
  const text = JSON.stringify(prompt.content.find(({ role }) => role === "user")?.content)
  let answers = 0
  for (const { role } of prompt.content) if (role === "assistant") answers++
  if (tools[0] === "ask") {
    return answers > 0 ? ScriptedModel.text("asked") : ScriptedModel.call("ask", {}, { id: "c0" })
  }
  if (tools[0] === "pace") {
    const [, run = ""] = /run (\w+)/.exec(text) ?? []
    return answers < 2000
      ? ScriptedModel.call("pace", { run, n: answers }, { id: `c${answers}` })
      : ScriptedModel.text("done")
  }
  const steps = Number(/steps (\d+)/.exec(text)?.[1])
  return answers * 2 < steps
    ? ScriptedModel.call("look", { n: answers }, { id: `c${answers}` })
    : ScriptedModel.text("done")
})

/** Runs in PostgreSQL, placed by a host. */
export const placedBy = (
  host: HostName,
  url: string,
  kind: "runner" | "client"
): Layer.Layer<RunStore.RunStore, unknown> => {
  const rows = RunStore.layerSql({ prefix: "bench" }).pipe(
    Layer.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 20 }))
  )
  return host === "sql"
    ? rows
    : (kind === "client" ? Cluster.layerClient : Cluster.layer()).pipe(
      Layer.provide([rows, clusterPlace(url, kind)])
    )
}
