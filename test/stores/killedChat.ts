/**
 * A chat in SQLite that pays. Its process kills itself in the first turn: `before` the payment, `within` it, or `behind` it. With `next` it sends the
 * next message and prints the results of payments that the model reads.
 */
import { Agent, Conversation, IdempotencyLedger, Recovery, Tool } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Clock, Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { appendFileSync } from "node:fs"

const when = process.argv[2]
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
  // The request behind the payment.
  prepareTurn: ({ prompt }) => Effect.as(resultsIn(prompt).length > 0 ? killAt("behind") : Effect.void, undefined)
})

const model = ScriptedModel.layer(({ prompt }) =>
  resultsIn(prompt).length === 0 ? ScriptedModel.call("pay", {}) : ScriptedModel.text("Known.")
)

const chat = { owner: "ada", thread: "t1", lease: "1 second" } as const

const program = Effect.gen(function*() {
  const send = Conversation.send(agent, { ...chat, message: when === "next" ? "Is it paid? If not, pay." : "Pay" })
  // The lease of the process that was killed is over at the time that the error names.
  const turn = yield* Effect.catchTag(send, "ThreadBusy", ({ freeAt = 0 }) =>
    Effect.gen(function*() {
      yield* Effect.sleep(Math.max(0, freeAt - (yield* Clock.currentTimeMillis)) + 20)
      return yield* send
    }))
  return resultsIn(turn.turn.prompt)
})

const database = NodeSqliteClient.layer({ filename: "chat.db" })

process.stdout.write(JSON.stringify(
  await Effect.runPromise(program.pipe(Effect.provide([
    Conversation.layerSql().pipe(Layer.provide(database)),
    IdempotencyLedger.layerSql().pipe(Layer.provide(database)),
    model
  ])))
))
