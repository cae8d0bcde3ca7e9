/** The law of a durable chat: stored bytes grow with the text that was said, on each store, with and without a server. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Conversation, Runs } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Context, Effect, Layer, type Scope, Stream } from "effect"
import { Prompt } from "effect/ai"
import { SqlClient } from "effect/sql"
import { serve } from "../../packages/server/test/support/kit.ts"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"

const reply = "word ".repeat(150)
const question = (n: number): string => `hello there ${n}`
const counts = [10, 20, 40]
const most = counts.at(-1)!

/** At most so many bytes are stored for each byte that was said, whatever the length of the chat. */
const limit = 8

const lengthOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "")

type Stores = Context.Context<RunStore.RunStore | Conversation.Conversations>

interface Place {
  readonly stores: Stores
  /** All bytes that are stored. */
  readonly bytes: Effect.Effect<number, unknown>
}

/** The sum of the lengths of all columns of all tables. */
const bytesOfTables = Effect.gen(function*() {
  const sql = (yield* SqlClient.SqlClient).withoutTransforms()
  const columns = yield* sql.onDialectOrElse({
    pg: () =>
      sql<{ readonly table: string; readonly name: string }>`
        SELECT table_name AS table, column_name AS name FROM information_schema.columns
        WHERE table_schema = current_schema()`,
    orElse: () =>
      sql<{ readonly table: string; readonly name: string }>`
        SELECT m.name AS "table", c.name AS name FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table'`
  })
  const bytes = sql.onDialectOrElse({
    pg: () => (name: string) => `octet_length(CAST(${name} AS TEXT))`,
    orElse: () => (name: string) => `length(CAST(${name} AS BLOB))`
  })
  let sum = 0
  for (const { name, table } of columns) {
    const [row] = yield* sql.unsafe<{ readonly sum: number | string | null }>(
      `SELECT SUM(${bytes(`"${name}"`)}) AS sum FROM "${table}"`
    )
    sum += Number(row?.sum ?? 0)
  }
  return sum
})

/** Content of the stores in memory, as JSON. */
const bytesInMemory = (stores: Stores, runIds: () => ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const runs = Context.get(stores, RunStore.RunStore)
    const conversations = Context.get(stores, Conversation.Conversations)
    const { threads } = yield* conversations.list({ owner: "ada" })
    let sum = 0
    for (const { id } of threads) sum += lengthOf(yield* conversations.read({ owner: "ada", thread: id }))
    for (const runId of runIds()) {
      const [run, { steps }] = yield* Effect.all([runs.get(runId), runs.load({ runId, segment: 0 })])
      const parts = yield* runs.messages(runId)
      sum += lengthOf([run, steps, parts.filter((part) => part.runId === runId)])
    }
    return sum
  })

const ofMemory: Effect.Effect<Place, unknown, Scope.Scope> = Effect.gen(function*() {
  const stores = yield* Layer.build(Layer.fresh(Layer.merge(RunStore.layerMemory, Conversation.layerMemory)))
  const ids = new Set<string>()
  const store = Context.get(stores, RunStore.RunStore)
  const watched: RunStore.Store = {
    ...store,
    insert: (run) => Effect.tap(store.insert(run), () => Effect.sync(() => ids.add(run.runId)))
  }
  return {
    stores: Context.add(stores, RunStore.RunStore, watched),
    bytes: bytesInMemory(stores, () => [...ids])
  }
})

const ofDatabase = ({ open }: (typeof sqlDatabases)[number]): Effect.Effect<Place, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const { address } = yield* Effect.acquireRelease(
      Effect.promise(open),
      ({ close }) => Effect.promise(close)
    )
    const stores = yield* Layer.build(
      Layer.merge(RunStore.layerSql(), Conversation.layerSql()).pipe(Layer.provideMerge(sqlLayer(address)))
    )
    return { stores, bytes: Effect.provideContext(bytesOfTables, stores) }
  })

const supported = sqlDatabases.filter(({ name }) => !name.startsWith("M"))
const places = [
  { name: "memory", place: ofMemory },
  ...supported.map((database) => ({ name: database.name, place: ofDatabase(database) }))
]

/** Says something in a chat, and waits for the answer. */
type Say = (n: number) => Effect.Effect<unknown, unknown>

const chat = Agent.make("chat", { input: Prompt.Prompt, prompt: (conversation) => conversation })
const Chat = Durable.make(chat, { input: Prompt.Prompt })
const replies = Array.from({ length: most }, () => ScriptedModel.text(reply))

/** A chat by `Durable` and `Conversation` alone. */
const byDurable = (stores: Stores): Effect.Effect<Say, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const context = yield* Layer.build(
      Durable.layer([Chat]).pipe(
        Layer.provide(ScriptedModel.layer(replies)),
        Layer.provide(Layer.succeedContext(stores))
      )
    )
    const runs = Context.get(context, Runs.Runs)
    return (n) =>
      Effect.scoped(Effect.gen(function*() {
        const turn = yield* Conversation.begin({ owner: "ada", thread: "t", message: question(n) })
        yield* Chat.run(`m${n}`, turn.prompt)
        const events = yield* Stream.runCollect(runs.events(`m${n}`))
        const end = events.at(-1)!.event
        if (end._tag === "RunFinished") yield* turn.end(end)
      })).pipe(Effect.provideContext(Context.merge(context, stores)))
  })

/** A chat by a server. */
const byServer = (stores: Stores): Effect.Effect<Say, unknown, Scope.Scope> =>
  Effect.map(
    serve(replies, {
      runs: (agent) =>
        Durable.layer([Durable.make(agent, { input: Prompt.Prompt })]).pipe(
          Layer.provide(Layer.succeedContext(stores))
        ),
      conversations: Layer.succeedContext(stores)
    }),
    ({ post }) => (n) =>
      Effect.map(
        post("/agents/clerk/chat", {
          id: "t",
          trigger: "submit-message",
          messages: [{ id: `m${n}`, role: "user", parts: [{ type: "text", text: question(n) }] }]
        }),
        ({ text }) => assert.include(text, "word word")
      )
  )

describe("the size of a durable chat", () => {
  for (const { name, place } of places) {
    for (const [way, begin] of [["Durable alone", byDurable], ["a server", byServer]] as const) {
      it.live(`stores at most ${limit} bytes for each byte said: ${name}, ${way}`, () =>
        Effect.gen(function*() {
          const { bytes, stores } = yield* place
          const say = yield* begin(stores)
          const measured: Array<number> = []
          let said = 0
          for (let n = 0; n < most; n++) {
            yield* say(n)
            said += reply.length + question(n).length
            if (counts.includes(n + 1)) measured.push((yield* bytes) / said)
          }
          const figures = measured.map((ratio, index) => `${counts[index]}: ${ratio.toFixed(1)}`).join(", ")
          if (process.env["TEST_SIZES"] !== undefined) process.stdout.write(`${name}, ${way}: ${figures}\n`)
          for (const ratio of measured) assert.isAtMost(ratio, limit, figures)
          assert.isAtMost(measured.at(-1)!, measured[0]! * 1.05, figures)
        }), 60_000)
    }
  }
})
