/** The service: durable runs in SQLite, approvals by a second person, bearer tokens, and the timeline of each run in the terminal. */
import { NodeHttpServer } from "@effect/platform-node"
import { AgentEvent, Approval, Conversation, IdempotencyLedger } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Authentication, Server } from "@recourse/server"
import { NodeSqliteClient } from "@recourse/sql"
import { Console, Layer, type Redacted, Schema } from "effect"
import { type LanguageModel, Prompt } from "effect/ai"
import { HttpRouter } from "effect/http"
import { createServer } from "node:http"
import { clerk } from "./clerk.ts"

export interface DeskOptions {
  readonly host: string
  readonly port: number
  /** The file of the database. */
  readonly file: string
  readonly ada: Redacted.Redacted<string>
  readonly grace: Redacted.Redacted<string>
  /** Signs paused runs: the same text after each start, 32 bytes at least. */
  readonly snapshotKey: Redacted.Redacted<string>
  readonly model: Layer.Layer<LanguageModel.LanguageModel>
}

/** Ada is a customer. Grace is an operator: she sees the runs of all users, and decides about their calls. */
const people = ({ ada, grace }: DeskOptions) =>
  Authentication.layerBearer([
    { token: ada, principal: { id: "ada", rights: ["chat"] } },
    { token: grace, principal: { id: "grace", rights: ["operate", "decide"] } }
  ])

const Clerk = Durable.make(
  clerk((order, euros) => Console.log(`The bank has paid ${euros} euros for order ${order}`)),
  {
    input: Schema.toCodecJson(Prompt.Prompt)
  }
)

export const desk = (options: DeskOptions) => {
  const stores = Layer.mergeAll(RunStore.layerSql(), IdempotencyLedger.layerSql(), Conversation.layerSql()).pipe(
    Layer.provide(NodeSqliteClient.layer({ filename: options.file }))
  )
  const runs = Durable.layer([Clerk], { lease: "5 seconds" }).pipe(
    Layer.provide([options.model, Approval.layerKey(options.snapshotKey), AgentEvent.layerConsole()])
  )
  const agents = [{ name: "clerk", description: "Refunds your orders", tools: [] }]
  return HttpRouter.serve(Server.layer({ agents })).pipe(
    Server.drained({ within: "5 seconds" }),
    Layer.provide(runs),
    Layer.provide([stores, people(options)]),
    Layer.provide(NodeHttpServer.layer(() => createServer(), { host: options.host, port: options.port }))
  )
}
