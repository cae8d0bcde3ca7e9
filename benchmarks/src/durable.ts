/**
 * What durable runs cost, beside a bare insert of the rows that they need: `node src/durable.ts [--postgres <url>]`.
 *
 * A step is an answer of the model or a call of a tool. Both take no time here, so that what is left is the recording.
 */
import { PgClient } from "@effect/sql-pg"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Duration, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const Look = Tool.make("look", {
  parameters: Schema.Struct({ n: Schema.Int }),
  success: Schema.String,
  effects: "read",
  execute: ({ n }) => Effect.succeed(`result ${n}, and some words that a result may hold`)
})

const Ask = Tool.make("ask", {
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: () => Effect.succeed("asked")
})

/** A run of an even number of steps: answers with a call, and their calls. */
const model = ScriptedModel.layer(({ prompt, tools }) => {
  const text = JSON.stringify(prompt.content.find(({ role }) => role === "user")?.content)
  const answers = prompt.content.filter(({ role }) => role === "assistant").length
  const steps = Number(/steps (\d+)/.exec(text)?.[1] ?? 20)
  if (tools[0] === "ask") return ScriptedModel.call("ask", {}, { id: "c0" })
  return answers * 2 < steps
    ? ScriptedModel.call("look", { n: answers }, { id: `c${answers}` })
    : ScriptedModel.text("done")
})

const worker = Durable.make(
  Agent.make("worker", {
    tools: [Look],
    budget: { turns: 1_000_000, sameToolCalls: 1_000_000 } as object,
    defaults: { onError: Recovery.keepGoing }
  })
)
const waiter = Durable.make(Agent.make("waiter", { tools: [Ask], defaults: { onError: Recovery.keepGoing } }))

const millis = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.map(Effect.timed(effect), ([duration]) => Duration.toMillis(duration))

const say = (line: string): Effect.Effect<void> => Effect.sync(() => void process.stdout.write(`${line}\n`))

const perSecond = (count: number, millis: number): number => Math.round((count * 1000) / millis)

const measure = (name: string, runs: number) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const all = yield* Runs.Runs
    yield* sql`CREATE TABLE bare (run_id VARCHAR(255), position INTEGER, value TEXT, PRIMARY KEY (run_id, position))`
    const value = JSON.stringify({ told: 1, answer: "x".repeat(400) })
    const insert = (run: string, position: number) =>
      sql.withTransaction(sql`INSERT INTO bare (run_id, position, value) VALUES (${run}, ${position}, ${value})`)
    const positions = Array.from({ length: 20 }, (_, n) => n)
    const one = yield* millis(Effect.forEach(positions, (n) => insert("one", n), { discard: true }))
    const bare = yield* millis(
      Effect.forEach(
        Array.from({ length: runs }, (_, n) => `r${n}`),
        (run) => Effect.forEach(positions, (n) => insert(run, n), { discard: true }),
        { concurrency: 50, discard: true }
      )
    )
    yield* say(`${name}: bare insert: ${(one / 20).toFixed(2)} ms; 50 at once ${perSecond(runs * 20, bare)} a second`)
    yield* worker.run("warm", "steps 20")
    const alone = yield* millis(
      Effect.forEach(
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        (n) => worker.run(`alone ${n}`, "steps 20"),
        { discard: true }
      )
    )
    const many = yield* millis(
      Effect.forEach(
        Array.from({ length: runs }, (_, n) => `run ${n}`),
        (run) => worker.run(run, "steps 20"),
        { concurrency: 50, discard: true }
      )
    )
    yield* say(
      `${name}: durable step: ${(alone / 200).toFixed(2)} ms in one run; 50 runs at once ${
        perSecond(runs * 20, many)
      } a second`
    )
    const long = yield* millis(worker.run("long", "steps 2000"))
    const replay = yield* RunStore.RunStore
    const load = yield* millis(replay.load("long", 0))
    yield* say(`${name}: a run of 2,000 steps: ${Math.round(long)} ms; its journal is read in ${Math.round(load)} ms`)
    const before = process.memoryUsage().heapUsed
    const started = yield* millis(
      Effect.forEach(
        Array.from({ length: runs * 10 }, (_, n) => `wait ${n}`),
        (run) => waiter.start(run, "go"),
        { concurrency: 50, discard: true }
      )
    )
    const waiting = Effect.map(
      all.list({ agent: "waiter", status: "waiting", limit: 1_000_000 }),
      (list) => list.length
    )
    const idle = yield* millis(Effect.repeat(Effect.delay(waiting, "100 millis"), { until: (n) => n === runs * 10 }))
    globalThis.gc?.()
    const heap = (process.memoryUsage().heapUsed - before) / 2 ** 20
    yield* say(
      `${name}: ${runs * 10} runs that wait: started in ${Math.round(started)} ms, all wait ${
        Math.round(idle)
      } ms later; heap ${heap.toFixed(1)} MB more`
    )
  })

const over = (name: string, sql: Layer.Layer<SqlClient.SqlClient, unknown>, runs: number) => {
  const store = RunStore.layerSql({ prefix: "bench" }).pipe(Layer.provideMerge(sql))
  const layer = Durable.layer([worker, waiter], { concurrency: 200 }).pipe(
    Layer.provide(model),
    Layer.provideMerge(store)
  )
  return measure(name, runs).pipe(Effect.provide(layer), Effect.scoped)
}

const runs = Number(process.env["BENCH_RUNS"] ?? 200)
const directory = mkdtempSync(join(tmpdir(), "recourse-"))
const file = join(directory, "bench.db")
await Effect.runPromise(over("SQLite", NodeSqliteClient.layer({ filename: file }), runs))
process.stdout.write(`SQLite: ${(statSync(file).size / 2 ** 20).toFixed(1)} MB on disk\n`)
rmSync(directory, { recursive: true, force: true })

const at = process.argv.indexOf("--postgres")
const url = process.argv[at + 1]
if (at > 0 && url !== undefined) {
  const schema = `bench_${process.pid}`
  const client = (path: string) =>
    PgClient.layer({ url: Redacted.make(url), maxConnections: 20, startupOptions: `-c search_path=${path}` })
  const admin = (text: string) =>
    Effect.runPromise(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)).pipe(
        Effect.provide(client("public")),
        Effect.scoped
      )
    )
  await admin(`CREATE SCHEMA ${schema}`)
  await Effect.runPromise(over("PostgreSQL", client(schema), runs)).finally(() =>
    admin(`DROP SCHEMA ${schema} CASCADE`)
  )
}
