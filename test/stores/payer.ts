/**
 * A process with an agent that pays: `node payer.ts <address> <payments> <mode>`. A payment is a line in a file. In mode `die`
 * the process ends between the payment and the record of its result. Prints the result that the model is given.
 */
import { Agent, Reconciliation, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { appendFileSync, readFileSync } from "node:fs"
import { type Address, ledgerLayer } from "../support/connections.ts"

const [address, payments, mode] = process.argv.slice(2) as [string, string, "die" | "pay" | "reconcile"]

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ order: Schema.Int }),
  success: Schema.String,
  effects: "write",
  idempotency: {
    key: ({ order }) => `order-${order}`,
    ...(mode === "reconcile"
      ? { reconcile: () => Effect.sync(() => Reconciliation.completed(readFileSync(payments, "utf8").trim())) }
      : undefined)
  },
  execute: ({ order }) =>
    Effect.map(ToolCall.ToolCall, ({ idempotencyKey }) => {
      appendFileSync(payments, `${order} under ${idempotencyKey}\n`)
      if (mode === "die") process.exit(9)
      return "paid"
    })
})

const program = Effect.gen(function*() {
  yield* Agent.make("payer", { tools: [Pay], defaults: { onError: Recovery.standard } }).run("Pay order 7")
  const script = yield* ScriptedModel.ScriptedModel
  const request = yield* script.lastRequest
  const [part] = request.prompt.content.at(-1)?.content as ReadonlyArray<{ readonly result: unknown }>
  process.stdout.write(JSON.stringify(part?.result))
})

await Effect.runPromise(program.pipe(
  Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { order: 7 }), ScriptedModel.text("done")])),
  Effect.provide(ledgerLayer(JSON.parse(address) as Address, { lease: "1 second", waitFor: "10 seconds" }))
))
