/** The agent over HTTP. Its runs are durable: they are in one SQLite file, and continue after a crash. */
import { AgentEvent, Approval, Conversation, IdempotencyLedger } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Authentication, Server } from "@recourse/server"
import { NodeSqliteClient } from "@recourse/sql"
import { Layer, type Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { support } from "./agents.ts"
import { Model } from "./model.ts"

export interface ServiceOptions {
  /** File of the database. */
  readonly file: string
  /** Token of a customer, who sees her own runs. */
  readonly customer: Redacted.Redacted<string>
  /** Token of an operator, who sees all runs and decides about calls that need approval. */
  readonly operator: Redacted.Redacted<string>
  /** Signs paused runs. It stays the same over restarts, and has at least 32 bytes. */
  readonly snapshotKey: Redacted.Redacted<string>
}

const Support = Durable.make(support, { input: Schema.toCodecJson(Prompt.Prompt) })

/** Returns the routes. `docs/server.md` in `@recourse/server` lists them. */
export const service = ({ customer, file, operator, snapshotKey }: ServiceOptions) => {
  const people = Authentication.layerBearer([
    { token: customer, principal: { id: "customer", rights: ["chat"] } },
    { token: operator, principal: { id: "operator", rights: ["operate", "decide"] } }
  ])
  const stores = Layer.mergeAll(RunStore.layerSql(), IdempotencyLedger.layerSql(), Conversation.layerSql()).pipe(
    Layer.provide(NodeSqliteClient.layer({ filename: file }))
  )
  // Another process takes over the runs of a process that was killed 5 seconds ago.
  const runs = Durable.layer([Support], { lease: "5 seconds" }).pipe(
    Layer.provide([Model, Approval.layerKey(snapshotKey), AgentEvent.layerConsole()])
  )
  return Server.layer({ agents: [{ name: "support", description: "Knows your orders", tools: [] }] }).pipe(
    Layer.provide(runs),
    Layer.provide([stores, people])
  )
}
