/** The agent that the processes of these tests run, and the world outside: a file to which each execution adds a line. */
import { Agent, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { appendFileSync } from "node:fs"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"

/** Called at each place at which a process may be killed. */
export type Moment = () => void

/** A line of external effects: the run, its call, and the key. */
export interface Deed {
  readonly run: string
  readonly deed: string
  readonly key?: string
}

const turns = (run: string) => [
  ScriptedModel.calls([
    { name: "look", params: {}, id: "c1" },
    { name: "book", params: { run, seat: "1A" }, id: "c2" },
    { name: "pay", params: { run, amount: 7 }, id: "c3" },
    { name: "note", params: { run }, id: "c5" }
  ]),
  ScriptedModel.call("clerk", { run }, { id: "c4" }),
  ScriptedModel.text("done")
]

const clerkTurns = (run: string) => [
  ScriptedModel.call("book", { run, seat: "3C" }, { id: "b1" }),
  ScriptedModel.text("booked")
]

/** The durable agent and its model. */
export const office = (file: string, moment: Moment, pause: number) => {
  const write = (deed: Deed) =>
    Effect.sync(() => {
      moment()
      appendFileSync(file, `${JSON.stringify(deed)}\n`)
      moment()
    }).pipe(Effect.andThen(Effect.sleep(pause)))
  const Look = Tool.make("look", {
    success: Schema.String,
    effects: "read",
    execute: () => Effect.as(Effect.sleep(pause), "free")
  })
  const Book = Tool.make("book", {
    parameters: Schema.Struct({ run: Schema.String, seat: Schema.String }),
    success: Schema.String,
    effects: "write",
    execute: ({ run, seat }) => Effect.as(write({ run, deed: `book ${seat}` }), "booked")
  })
  const Pay = Tool.make("pay", {
    parameters: Schema.Struct({ run: Schema.String, amount: Schema.Int }),
    success: Schema.Int,
    effects: "write",
    idempotency: true,
    execute: ({ amount, run }) =>
      Effect.flatMap(
        ToolCall.ToolCall,
        ({ idempotencyKey = "" }) => Effect.as(write({ run, deed: "pay", key: idempotencyKey }), amount)
      )
  })
  const Request = Schema.Struct({ run: Schema.String })
  /** In the database of the runs: with its outcome, in one transaction. */
  const Note = Tool.make("note", {
    parameters: Request,
    success: Schema.String,
    effects: "write",
    transaction: true,
    execute: ({ run }) =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        moment()
        yield* sql`INSERT INTO notes (run) VALUES (${run})`
        moment()
        return "noted"
      })
  })
  const clerk = Agent.make("clerk", { input: Request, tools: [Book], defaults: { onError: Recovery.keepGoing } })
  const chief = Agent.make("chief", {
    tools: [
      Look,
      Book,
      Pay,
      Note,
      clerk.pipe(Agent.asTool("clerk", { description: "Books", parameters: Request, success: Schema.String }))
    ],
    defaults: { onError: Recovery.keepGoing }
  })
  const model = ScriptedModel.layer(({ prompt, tools }) => {
    const first = JSON.stringify(prompt.content.find(({ role }) => role === "user")?.content)
    const run = /run-\d+/.exec(first)?.[0] ?? "run-0"
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    moment()
    const name = tools.length === 1 ? "clerk" : "chief"
    appendFileSync(file, `${JSON.stringify({ run, deed: `ask ${name} ${turn}` })}\n`)
    return ScriptedModel.delay(
      pause,
      (name === "clerk" ? clerkTurns(run) : turns(run))[turn] ?? ScriptedModel.text("?")
    )
  })
  return { Chief: Durable.make(chief), model }
}

/** Number of notes of a run. */
export const notesOf = (run: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => Effect.map(sql`SELECT run FROM notes WHERE run = ${run}`, (rows) => rows.length)
  )

const watched = (store: RunStore.Store, moment: Moment): RunStore.Store => ({
  ...store,
  append: (steps) =>
    Effect.sync(moment).pipe(Effect.andThen(store.append(steps)), Effect.tap(() => Effect.sync(moment))),
  settle: (hold, settlement) =>
    Effect.sync(moment).pipe(Effect.andThen(store.settle(hold, settlement)), Effect.tap(() => Effect.sync(moment)))
})

/** Stores of runs and keys. */
export const stores = (address: SqlAddress, prefix: string, moment: Moment) => {
  const sql = Layer.effectDiscard(
    Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.ignore(sql`CREATE TABLE IF NOT EXISTS notes (run VARCHAR(99))`))
  ).pipe(Layer.provideMerge(sqlLayer(address)))
  const runs = Layer.effect(
    RunStore.RunStore,
    Effect.map(RunStore.RunStore, (store) => watched(store, moment))
  ).pipe(Layer.provide(RunStore.layerSql({ prefix })))
  const ledger = IdempotencyLedger.layerSql({ lease: "1 second", table: `${prefix}_ledger` })
  return Layer.merge(runs, ledger).pipe(Layer.provideMerge(sql)) as Layer.Layer<
    RunStore.RunStore | IdempotencyLedger.IdempotencyLedger | SqlClient.SqlClient
  >
}
