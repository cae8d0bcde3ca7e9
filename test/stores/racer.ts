/**
 * One of several processes that make the same writes at once: `node racer.ts <address> <effects> <keys>`. A write is a
 * line in a file, and takes longer than the lease. `reconcile` reports truthfully if the line exists, so it reports a
 * travelling write as "not happened". Prints the number of calls with a result. With a fourth argument, a file, the
 * process is suspended when its first write starts, and writes its id into that file.
 */
import { IdempotencyLedger, Reconciliation, Tool, ToolCall } from "@recourse/core"
import { Effect, Exit, Schema } from "effect"
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { type Address, ledgerLayer } from "../support/connections.ts"

const [address, effects, keys, stopped] = process.argv.slice(2) as [string, string, string, string | undefined]

/** In milliseconds. Many keys on a busy machine need a longer one. */
const lease = Number(process.env["TEST_LEASE"] ?? 2000)

const has = (key: string): boolean => readFileSync(effects, "utf8").split("\n").includes(key)

let hasStopped = stopped === undefined
const standStill = Effect.sync(() => {
  if (hasStopped) return
  hasStopped = true
  writeFileSync(stopped!, String(process.pid))
  process.kill(process.pid, "SIGSTOP")
})

const Write = Tool.make("write", {
  parameters: Schema.Struct({ key: Schema.String }),
  success: Schema.String,
  effects: "write",
  idempotency: {
    key: ({ key }) => key,
    reconcile: (_, { key }) =>
      Effect.sync(() => has(key) ? Reconciliation.completed("found") : Reconciliation.notStarted)
  },
  execute: ({ key }) =>
    Effect.andThen(
      standStill,
      Effect.delay(Effect.sync(() => (appendFileSync(effects, `${key}\n`), "done")), lease * 1.25)
    )
})

const call = (key: string) =>
  Effect.exit(
    Write.call.pipe(
      Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: `${process.pid}`, arguments: { key } }))
    )
  )

const program = Effect.gen(function*() {
  yield* IdempotencyLedger.IdempotencyLedger
  const exits = yield* Effect.forEach(
    Array.from({ length: Number(keys) }, (_, n) => `key ${n}`),
    call,
    { concurrency: "unbounded" }
  )
  process.stdout.write(String(exits.filter(Exit.isSuccess).length))
})

await Effect.runPromise(
  program.pipe(
    Effect.provide(ledgerLayer(JSON.parse(address) as Address, { lease, waitFor: "2 minutes" }))
  )
)
