/**
 * Storage of durable runs, and duration of a reply in a chat: `node src/durable/chats.ts [--messages 300] [--reply 750]
 * [--postgres <url>]`.
 *
 * Each message of the chat is a durable run on the conversation so far. Bytes are the lengths of all columns of all tables, runs and conversation, for
 * each byte that was said. A reply is from the message until the conversation has the answer; the model takes no time. Then a run of 20 steps whose
 * calls have results of 1 KB.
 */
import { PgClient } from "@effect/sql-pg"
import { Agent, Conversation, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { type Context, Effect, Layer, Redacted, Schema, Stream } from "effect"
import { Prompt } from "effect/ai"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "300" },
    reply: { type: "string", default: "750" },
    postgres: { type: "string" }
  }
})
const messages = Number(values.messages)
const reply = "word ".repeat(Math.ceil(Number(values.reply) / 5))
const question = (n: number): string => `hello there ${n}`

const Chat = Durable.make(
  Agent.make("chat", { input: Prompt.Prompt, prompt: (conversation) => conversation }),
  { input: Prompt.Prompt }
)

const calls = 10
const Look = Tool.make("look", {
  parameters: Schema.Struct({ at: Schema.Int }),
  success: Schema.String,
  effects: "read",
  execute: ({ at }) => Effect.succeed(`${at} `.repeat(1000).slice(0, 1000))
})
const Long = Durable.make(Agent.make("long", { tools: [Look] }))

const bytes = Effect.gen(function*() {
  const sql = (yield* SqlClient.SqlClient).withoutTransforms()
  type Column = { readonly table: string; readonly name: string }
  const columns = yield* sql.onDialectOrElse({
    pg: () =>
      sql<Column>`SELECT table_name AS table, column_name AS name FROM information_schema.columns
        WHERE table_schema = current_schema()`,
    orElse: () =>
      sql<Column>`SELECT m.name AS "table", c.name AS name FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table'`
  })
  const length = sql.onDialectOrElse({
    pg: () => (name: string) => `octet_length(CAST("${name}" AS TEXT))`,
    orElse: () => (name: string) => `length(CAST("${name}" AS BLOB))`
  })
  let sum = 0
  for (const { name, table } of columns) {
    const [row] = yield* sql.unsafe<{ readonly sum: number | string | null }>(
      `SELECT SUM(${length(name)}) AS sum FROM "${table}"`
    )
    sum += Number(row?.sum ?? 0)
  }
  return sum
})

const say = (n: number) =>
  Effect.scoped(Effect.gen(function*() {
    const turn = yield* Conversation.begin({ owner: "ada", thread: "t", message: question(n) })
    yield* Chat.run(`m${n}`, turn.prompt)
    const events = yield* Stream.runCollect((yield* Runs.Runs).events(`m${n}`))
    const end = events.at(-1)!.event
    if (end._tag === "RunFinished") yield* turn.end(end)
  }))

const median = (numbers: ReadonlyArray<number>): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

const measure = Effect.fnUntraced(function*(name: string) {
  const took: Array<{ readonly wall: number; readonly cpu: number }> = []
  let said = 0
  for (let n = 0; n < messages; n++) {
    const [begun, cpu] = [performance.now(), process.cpuUsage()]
    yield* say(n)
    const { system, user } = process.cpuUsage(cpu)
    took.push({ wall: performance.now() - begun, cpu: (system + user) / 1000 })
    said += reply.length + question(n).length
    if (![10, 20, 60, 100, 300].includes(n + 1) && n + 1 !== messages) continue
    const last = took.slice(-10)
    const [wall, busy] = [median(last.map(({ wall }) => wall)), median(last.map(({ cpu }) => cpu))]
    const ratio = (yield* bytes) / said
    process.stdout.write(
      `${name}: message ${n + 1}: ${ratio.toFixed(1)} bytes for each byte said, ${wall.toFixed(1)} ms a reply, ${
        busy.toFixed(1)
      } ms of CPU\n`
    )
  }
})

const measureLong = Effect.fnUntraced(function*(name: string) {
  const before = yield* bytes
  yield* Long.run("long", "Look around")
  const kilobytes = ((yield* bytes) - before) / 1000
  process.stdout.write(
    `${name}: a run of ${2 * calls} steps with ${calls} results of 1 KB: ${kilobytes.toFixed(1)} KB\n`
  )
})

const run = (name: string, client: Layer.Layer<SqlClient.SqlClient, unknown>) => {
  const model = ScriptedModel.layer([
    ...Array.from({ length: messages }, () => ScriptedModel.text(reply)),
    ...Array.from({ length: calls }, (_, at) => ScriptedModel.call("look", { at }, { id: `c${at}` })),
    ScriptedModel.text("All seen.")
  ])
  const layer = Layer.merge(
    Conversation.layerSql(),
    Durable.layer([Chat, Long]).pipe(Layer.provide(RunStore.layerSql()), Layer.provide(model))
  ).pipe(Layer.provideMerge(client))
  return Effect.runPromise(Effect.scoped(Effect.flatMap(Layer.build(layer), (context) =>
    Effect.provideContext(
      Effect.andThen(measure(name), measureLong(name)),
      context as Context.Context<Runs.Runs | Conversation.Conversations | SqlClient.SqlClient>
    ))))
}

const directory = mkdtempSync(join(tmpdir(), "recourse-chats-"))
await run("SQLite", NodeSqliteClient.layer({ filename: join(directory, "chats.db") }))
rmSync(directory, { recursive: true })

if (values.postgres !== undefined) {
  const url = Redacted.make(values.postgres)
  const schema = `chats_${process.pid}`
  const once = (text: string) =>
    Effect.runPromise(Effect.scoped(Effect.provide(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)),
      PgClient.layer({ url })
    )))
  await once(`CREATE SCHEMA ${schema}`)
  await run("PostgreSQL", PgClient.layer({ url, maxConnections: 5, startupOptions: `-c search_path=${schema}` }))
  await once(`DROP SCHEMA ${schema} CASCADE`)
}
