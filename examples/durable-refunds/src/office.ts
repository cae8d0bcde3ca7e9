/** The agent: it refunds orders at a bank that knows keys, writes a mail that has none, and asks a person about large refunds. */
import { Effect, Layer, Schema } from "effect"
import { Agent, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { appendFileSync, existsSync, readFileSync } from "node:fs"

/** The external world: a file of completed actions, in which a bank looks a key up before it pays. */
export const linesOf = (file: string): ReadonlyArray<string> =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").filter((line) => line !== "") : []

const order = Schema.Struct({ order: Schema.Int })

/** Long enough for a kill: the action is done, and its answer is still on the way. */
const answerOnItsWay = Effect.sleep("1500 millis")

export const office = (file: string) => {
  const deed = (line: string) =>
    Effect.sync(() => {
      if (!linesOf(file).includes(line)) appendFileSync(file, `${line}\n`)
      process.stdout.write(`${line}\n`)
    }).pipe(Effect.andThen(answerOnItsWay))

  const LookUp = Tool.make("look_up", {
    parameters: order,
    success: Schema.Struct({ euros: Schema.Int }),
    effects: "read",
    execute: ({ order }) => Effect.succeed({ euros: order === 7 ? 20 : 900 })
  })
  const Refund = Tool.make("refund", {
    parameters: Schema.Struct({ order: Schema.Int, euros: Schema.Int }),
    success: Schema.String,
    effects: "write",
    idempotency: true,
    needsApproval: ({ euros }) => Effect.succeed(euros > 100),
    execute: ({ euros, order }) =>
      Effect.flatMap(
        ToolCall.ToolCall,
        ({ idempotencyKey = "" }) =>
          Effect.as(
            deed(`refunded ${euros} euros of order ${order} under the key ${idempotencyKey.slice(0, 8)}`),
            "refunded"
          )
      )
  })
  const Mail = Tool.make("mail", {
    parameters: order,
    success: Schema.String,
    effects: "write",
    execute: ({ order }) => Effect.as(deed(`wrote a mail about order ${order}`), "sent")
  })

  const model = ScriptedModel.layer(ScriptedModel.steps([
    ScriptedModel.calls([
      { name: "look_up", params: { order: 7 }, id: "c1" },
      { name: "look_up", params: { order: 8 }, id: "c2" }
    ]),
    ScriptedModel.call("refund", { order: 7, euros: 20 }, { id: "c3" }),
    ScriptedModel.call("mail", { order: 7 }, { id: "c4" }),
    ScriptedModel.call("refund", { order: 8, euros: 900 }, { id: "c5" }),
    ScriptedModel.text("Both orders are refunded. Whether the mail about order 7 was sent is not known.")
  ]))
  const agent = Agent.make("refunds", {
    instructions: "Refund what the customer asks for.",
    tools: [LookUp, Refund, Mail],
    defaults: { onError: Recovery.keepGoing }
  })
  return { Refunds: Durable.make(agent), model }
}

/** Runs and keys, in one file of SQLite. */
export const stores = (database: string) =>
  Layer.merge(RunStore.layerSql(), IdempotencyLedger.layerSql()).pipe(
    Layer.provide(NodeSqliteClient.layer({ filename: database })),
    Layer.orDie
  )
