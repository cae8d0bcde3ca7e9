/**
 * A process that runs a waiting agent: for a service that requests time, for an open circuit, and for a person: `node
 * waiter.ts <address> <log>`. It runs until it is killed.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Agent, ErrorProjection, Recovery, Tool } from "@recourse/core"
import { CircuitStore, Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schedule, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { appendFileSync, readFileSync } from "node:fs"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"

/** The service's requested wait, in seconds. */
export const waited = 3

class Busy extends Schema.TaggedError<Busy>()(
  "Busy",
  {},
  ErrorProjection.declare<object>({ code: "rate_limited", retryAfter: () => `${waited} seconds`, outcome: "not_done" })
) {}

/** An external effect, with its time. */
export interface Deed {
  readonly deed: string
  readonly at: number
}

export const deedsOf = (log: string): ReadonlyArray<Deed> =>
  readFileSync(log, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Deed)

const note = (log: string, deed: string): void =>
  appendFileSync(log, `${JSON.stringify({ deed, at: Date.now() } satisfies Deed)}\n`)

export const clinic = (log: string) => {
  const does = (deed: string) => Effect.sync(() => note(log, deed))
  const Look = Tool.make("look", {
    success: Schema.String,
    failure: Busy,
    effects: "read",
    execute: () => {
      const isFirst = !deedsOf(log).some(({ deed }) => deed === "look")
      return Effect.andThen(does("look"), isFirst ? Effect.fail(new Busy()) : Effect.succeed("free"))
    }
  }).pipe(
    Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.spaced("100 millis"), maxRetryAfter: "1 minute" }))
  )
  const Ring = Tool.make("ring", {
    parameters: Schema.Struct({ turn: Schema.Int }),
    effects: "read",
    execute: () => Effect.andThen(does("ring"), Effect.fail("down" as const))
  }).pipe(Tool.onError(Recovery.circuitBreaker()))
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.as(does("pay"), "paid")
  })
  const Clinic = Durable.make(
    Agent.make("clinic", { tools: [Look, Ring, Pay], defaults: { onError: Recovery.keepGoing } }),
    { approvals: { people: [{ to: "desk" }], notify: ({ to }) => does(`tell ${to}`) } }
  )
  const model = ScriptedModel.layer(({ prompt }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    note(log, `ask ${turn}`)
    const ring = { name: "ring", params: { turn }, id: `ring${turn}` }
    return turn === 0
      ? ScriptedModel.calls([{ name: "look", params: {}, id: "look" }, ring])
      : turn === 1
      ? ScriptedModel.calls([ring, { name: "pay", params: {}, id: "pay" }])
      : ScriptedModel.text(JSON.stringify(prompt.content).includes("circuit_open") ? "was open" : "was not open")
  })
  const breaker = CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "10 minutes" })
  return { Clinic, model, breaker }
}

export const stores = (address: SqlAddress) =>
  Layer.merge(RunStore.layerSql(), CircuitStore.layerSql()).pipe(Layer.provide(sqlLayer(address)))

if (import.meta.main) {
  const [address, log] = process.argv.slice(2) as [string, string]
  const { Clinic, breaker, model } = clinic(log)
  const runners = Durable.layer([Clinic], { lease: 1200, poll: 100 }).pipe(
    Layer.provide([model, breaker]),
    Layer.provide(stores(JSON.parse(address) as SqlAddress))
  )
  const ready = Effect.sync(() => note(log, "ready"))
  NodeRuntime.runMain(Effect.andThen(ready, Effect.never).pipe(Effect.provide(runners)))
}
