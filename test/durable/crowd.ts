/**
 * A process that runs agents with queues, a cron of each second, and an agent that starts many: `node crowd.ts
 * <address> <log> <children>`. It runs until it is killed.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Cron, Effect, Layer, Schema } from "effect"
import { appendFileSync, readFileSync } from "node:fs"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"

/** At most so many runs of the agent `narrow` at once. */
export const atOnce = 3
/** At most so many runs of the agent `paced` begin in a second, and twice as many in any one. */
export const perSecond = 8

/** A process's action, with its time. */
export interface Deed {
  readonly deed: "ready" | "begin" | "end" | "killed"
  readonly pid: number
  readonly at: number
  readonly run?: string
}

export const note = (log: string, deed: Deed["deed"], pid: number, run?: string): void =>
  appendFileSync(log, `${JSON.stringify({ deed, pid, at: Date.now(), ...(run === undefined ? {} : { run }) })}\n`)

export const deedsOf = (log: string): ReadonlyArray<Deed> =>
  readFileSync(log, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Deed)

export const agentsOf = (log: string, children: number) => {
  /** An agent whose input is its run's id, and which takes a while. */
  const working = (name: string, millis: number, queue?: Durable.Queue) =>
    Durable.make(
      Agent.fromFunction(name, (run: string) =>
        Effect.gen(function*() {
          note(log, "begin", process.pid, run)
          yield* Effect.sleep(millis)
          note(log, "end", process.pid, run)
          return run
        })),
      { queue }
    )
  const Narrow = working("narrow", 150, { concurrency: atOnce })
  const Paced = working("paced", 10, { rate: { limit: perSecond, per: "1 second" } })
  const Tick = working("tick", 10)
  const Leaf = working("leaf", 300)
  const Fan = Tool.make("fan", {
    success: Schema.Int,
    effects: "idempotent",
    execute: () =>
      Effect.map(
        Effect.andThen(
          Effect.sync(() => note(log, "begin", process.pid, "root 1")),
          Effect.forEach(
            Array.from({ length: children }, (_, n) => String(n)),
            (n) => Effect.flatMap(Durable.childId(n), (id) => Leaf.run(id, id)),
            { concurrency: "unbounded" }
          )
        ),
        (answers) => new Set(answers).size
      )
  })
  const Root = Durable.make(Agent.make("root", { tools: [Fan], defaults: { onError: Recovery.keepGoing } }))
  const model = ScriptedModel.layer(({ prompt }) => {
    const result = prompt.content.find(({ role }) => role === "tool")
    const answered = /"result":(\d+)/.exec(JSON.stringify(result?.content))?.[1]
    return result === undefined
      ? ScriptedModel.call("fan", {}, { id: "fan" })
      : ScriptedModel.text(`${answered} children`)
  })
  return { Leaf, Narrow, Paced, Root, Tick, all: [Narrow, Paced, Tick, Leaf, Root] as const, model }
}

export const stores = (address: SqlAddress) => RunStore.layerSql().pipe(Layer.provide(sqlLayer(address)))

if (import.meta.main) {
  const [address, log, children] = process.argv.slice(2) as [string, string, string]
  const { Tick, all, model } = agentsOf(log, Number(children))
  const runners = Durable.layerCron(Tick, {
    name: "tick",
    cron: Cron.parseUnsafe("* * * * * *", "UTC"),
    input: (at) => `tick ${at.toISOString()}`,
    catchUp: "1 minute"
  }).pipe(
    Layer.provideMerge(Durable.layer(all, { lease: 2500, poll: 100 })),
    Layer.provide(model),
    Layer.provide(stores(JSON.parse(address) as SqlAddress))
  )
  const ready = Effect.sync(() => note(log, "ready", process.pid))
  NodeRuntime.runMain(Effect.andThen(ready, Effect.never).pipe(Effect.provide(runners)))
}
