/**
 * A server without durable runs, with its threads in SQLite. The tool `pay` kills the process: `before` the payment, `within` it, or `behind` it. With
 * `next`, no call kills it. It prints its address, then the results of payments in each request to the model, and the audit's decisions.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { Agent, Audit, Conversation, IdempotencyLedger, Recovery, Tool } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import { appendFileSync } from "node:fs"
import { createServer } from "node:http"

const when = process.argv[2]
const print = (line: unknown) => void process.stdout.write(`${JSON.stringify(line)}\n`)
const killAt = (point: string) =>
  Effect.sync(() => {
    if (when === point) process.kill(process.pid, "SIGKILL")
  })

const resultsIn = (prompt: Prompt.Prompt) =>
  prompt.content.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) => part.type === "tool-result" ? [part.result] : [])
      : []
  )

const Pay = Tool.make("pay", {
  success: Schema.String,
  effects: "write",
  idempotency: true,
  execute: () =>
    Effect.gen(function*() {
      yield* killAt("before")
      appendFileSync("paid.log", "paid\n")
      yield* killAt("within")
      return "paid"
    })
})

const agent = Agent.make("clerk", {
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  tools: [Pay],
  defaults: { onError: Recovery.standard },
  prepareTurn: ({ prompt }) => Effect.as(resultsIn(prompt).length > 0 ? killAt("behind") : Effect.void, undefined)
})

const model = ScriptedModel.layer(({ prompt }) => {
  const results = resultsIn(prompt)
  const users = prompt.content.filter(({ role }) => role === "user").length
  print({ users, results: results.map((result) => (result as { readonly code?: string } | null)?.code ?? result) })
  return results.length === 0 ? ScriptedModel.call("pay", {}) : ScriptedModel.text("Known.")
})

const database = NodeSqliteClient.layer({ filename: "chat.db" })

/** The lease of the process before is over. */
const leaseOver = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE recourse_threads SET leased_until = 0`
})

const app = HttpRouter.serve(Server.layer({ agents: [{ name: "clerk", description: "Pays", tools: [] }] }), {
  disableListenLog: true,
  disableLogger: true
})

await Effect.runPromise(
  Effect.andThen(
    when === "next" ? leaseOver : Effect.void,
    Effect.andThen(HttpServer.addressFormattedWith((url) => Effect.sync(() => print({ url }))), Effect.never)
  ).pipe(
    Effect.provide(
      app.pipe(
        Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
        Layer.provide(MemoryRuns.layer({ agents: [agent] })),
        Layer.provide([
          Authentication.layerAnonymous(),
          Conversation.layerSql(),
          IdempotencyLedger.layerSql(),
          Audit.layer(({ decision }) => Effect.sync(() => print({ decision }))),
          model
        ]),
        Layer.provideMerge(database)
      )
    )
  )
)
