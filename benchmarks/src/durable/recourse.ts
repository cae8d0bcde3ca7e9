/** Recourse: a durable agent with a model and a tool that take no time. */
import { PgClient } from "@effect/sql-pg"
import { Agent, Approval, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Deferred, Effect, Layer, ManagedRuntime, Redacted, Schema } from "effect"
import { clusterPlace } from "./clusterPlace.ts"
import { answer, type Open } from "./engine.ts"
import type { HostName } from "./hostAgents.ts"

const Ask = Tool.make("ask", {
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: () => Effect.succeed("asked")
})
const waiter = Durable.make(Agent.make("waiter", { tools: [Ask], defaults: { onError: Recovery.keepGoing } }))

/** An engine whose tool is a read, or a write without a key: then its beginning is recorded, too. A cluster is over PostgreSQL. */
export const recourse = (effects: "read" | "write", host: HostName = "sql"): Open => (place, isCut) => {
  const cut = Deferred.makeUnsafe<void>()
  const Look = Tool.make("look", {
    parameters: Schema.Struct({ n: Schema.Int }),
    success: Schema.String,
    effects,
    execute: ({ n }) => Effect.succeed(answer(n))
  })
  const worker = Durable.make(
    Agent.make("worker", {
      tools: [Look],
      budget: { turns: 1_000_000 },
      defaults: { onError: Recovery.keepGoing }
    })
  )
  const model = ScriptedModel.layer(({ prompt, tools }) => {
    if (tools[0] === "ask") {
      return prompt.content.at(-1)?.role === "tool"
        ? ScriptedModel.text("asked")
        : ScriptedModel.call("ask", {}, { id: "c0" })
    }
    const text = JSON.stringify(prompt.content.find(({ role }) => role === "user")?.content)
    const steps = Number(/steps (\d+)/.exec(text)?.[1])
    let answers = 0
    for (const { role } of prompt.content) if (role === "assistant") answers++
    if (answers * 2 < steps) return ScriptedModel.call("look", { n: answers }, { id: `c${answers}` })
    if (isCut) Deferred.doneUnsafe(cut, Effect.void)
    return isCut ? ScriptedModel.delay("1 hour", ScriptedModel.text("done")) : ScriptedModel.text("done")
  })
  const sql = "postgres" in place
    ? PgClient.layer({ url: Redacted.make(place.postgres), maxConnections: 20 })
    : NodeSqliteClient.layer({ filename: place.file })
  const rows = RunStore.layerSql({ prefix: "bench" }).pipe(Layer.provide(sql))
  const placed = host === "cluster" && "postgres" in place
    ? Cluster.layer().pipe(Layer.provide([rows, clusterPlace(place.postgres, "runner")]))
    : rows
  const runtime = ManagedRuntime.make(
    Durable.layer([worker, waiter], { concurrency: 200, ...(isCut ? { lease: "2 seconds" } : undefined) }).pipe(
      Layer.provide(model),
      Layer.provide(placed)
    )
  )
  const waiters = (status: Runs.Status, limit: number) =>
    Effect.flatMap(
      Runs.Runs,
      (runs) => Effect.map(runs.list({ agent: "waiter", status, limit }), (list) => list.length)
    )
  /** Looks again and again, until none is queued or running: a list of all runs is work of its own. */
  const isIdle = Effect.zipWith(
    waiters("queued", 1),
    waiters("running", 1),
    (queued, running) => queued + running === 0
  )
  const idle = Effect.repeat(Effect.delay(isIdle, "250 millis"), { until: (isIdle) => isIdle })
  const all = (status: Runs.Status, count: number) =>
    Effect.flatMap(
      waiters(status, count),
      (found) => found === count ? Effect.void : Effect.die(`Not all runs are ${status}`)
    )
  return runtime.runPromise(Effect.void).then(() => ({
    run: (id, steps) => runtime.runPromise(Effect.asVoid(worker.run(id, `steps ${steps}`))),
    cut: (id, steps) => runtime.runPromise(Effect.andThen(worker.start(id, `steps ${steps}`), Deferred.await(cut))),
    resume: (id) => runtime.runPromise(Effect.asVoid(worker.await(id))),
    wait: (ids) =>
      runtime.runPromise(Effect.gen(function*() {
        yield* Effect.forEach(ids, (id) => waiter.start(id, "go"), { concurrency: 50, discard: true })
        yield* idle
        yield* all("waiting", ids.length)
      })),
    wake: (ids) =>
      runtime.runPromise(Effect.gen(function*() {
        const runs = yield* Runs.Runs
        yield* Effect.forEach(ids, (id) =>
          Effect.flatMap(runs.get(id), ({ pending }) =>
            runs.decide(id, pending.map((call) => Approval.approve(call)))), { concurrency: 50, discard: true })
        yield* Effect.forEach(ids, (id) =>
          waiter.await(id), { concurrency: "unbounded", discard: true })
        yield* all("completed", ids.length)
      })),
    close: () => runtime.dispose()
  }))
}
