/** LangGraph: a graph of a model and a tool, with a checkpoint behind each step (`durability: "sync"`). */
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph"
import type { BaseCheckpointSaver } from "@langchain/langgraph"
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres"
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { answer, type Open, type Place } from "./engine.ts"

const State = Annotation.Root({
  steps: Annotation<number>,
  messages: Annotation<Array<string>>({ reducer: (before, more) => [...before, ...more], default: () => [] })
})

/** The part of better-sqlite3 that the saver uses, over the SQLite of Node: no native module has to be built. */
const sqlite = (file: string): ConstructorParameters<typeof SqliteSaver>[0] => {
  const database = new DatabaseSync(file)
  const prepare = (sql: string) => {
    const statement = database.prepare(sql)
    const bound = (params: ReadonlyArray<SQLInputValue | undefined>) => params.map((value) => value ?? null)
    return {
      all: (...params: ReadonlyArray<SQLInputValue | undefined>) => statement.all(...bound(params)),
      get: (...params: ReadonlyArray<SQLInputValue | undefined>) => statement.get(...bound(params)),
      run: (...params: ReadonlyArray<SQLInputValue | undefined>) => statement.run(...bound(params))
    }
  }
  return {
    prepare,
    exec: (sql: string) => database.exec(sql),
    pragma: (text: string) => database.exec(`PRAGMA ${text}`),
    transaction: (write: (...params: Array<unknown>) => unknown) => (...params: Array<unknown>) => {
      database.exec("BEGIN")
      try {
        const answer = write(...params)
        database.exec("COMMIT")
        return answer
      } catch (error) {
        database.exec("ROLLBACK")
        throw error
      }
    }
  } as never
}

const saverOf = async (place: Place): Promise<{ saver: BaseCheckpointSaver; close: () => Promise<void> }> => {
  if ("file" in place) return { saver: new SqliteSaver(sqlite(place.file)), close: () => Promise.resolve() }
  const saver = PostgresSaver.fromConnString(place.postgres)
  await saver.setup()
  return { saver, close: () => saver.end() }
}

export const langgraph: Open = async (place, isCut) => {
  let reached: () => void = () => undefined
  const cut = new Promise<void>((resolve) => reached = resolve)
  const { close, saver } = await saverOf(place)
  const next = (node: string) => ({ messages, steps }: typeof State.State) => messages.length < steps ? node : "last"
  const step = ({ messages }: typeof State.State) => ({ messages: [answer(messages.length)] })
  const graph = new StateGraph(State)
    .addNode("model", step)
    .addNode("tool", step)
    .addNode("last", async () => {
      if (!isCut) return {}
      reached()
      return new Promise<never>(() => undefined)
    })
    .addNode("person", () => ({ messages: [interrupt<string, string>("May I?")] }))
    .addConditionalEdges(START, ({ steps }) => steps < 0 ? "person" : "model")
    .addConditionalEdges("model", next("tool"))
    .addConditionalEdges("tool", next("model"))
    .addEdge("last", END)
    .addEdge("person", END)
    .compile({ checkpointer: saver })
  const config = (id: string) =>
    ({ configurable: { thread_id: id }, durability: "sync", recursionLimit: 1_000_000 }) as const
  return {
    run: async (id, steps) => void await graph.invoke({ steps, messages: [] }, config(id)),
    cut: async (id, steps) => {
      void graph.invoke({ steps, messages: [] }, config(id))
      await cut
    },
    resume: async (id) => void await graph.invoke(null, config(id)),
    wait: async (ids) => {
      for (let n = 0; n < ids.length; n += 50) {
        await Promise.all(
          ids.slice(n, n + 50).map((id) => graph.invoke({ steps: -1, messages: [] }, config(id)))
        )
      }
    },
    wake: async (ids) => {
      for (let n = 0; n < ids.length; n += 50) {
        await Promise.all(ids.slice(n, n + 50).map((id) => graph.invoke(new Command({ resume: "yes" }), config(id))))
      }
    },
    close
  }
}
