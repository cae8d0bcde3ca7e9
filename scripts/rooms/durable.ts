/** Layout of the durable runs (docs/maps.md). */
import type { Layout } from "./layout.ts"

const rooms: Layout["rooms"] = {
  store: {
    holds: "the seam: what a host, a log and lists do, the states of a run, and values as they are stored",
    not: "a database, an agent",
    mayImport: []
  },
  circuit: { holds: "circuits over processes", not: "a table", mayImport: [] },
  memory: { holds: "a store in the memory of one process", not: "a rule that SQL has not", mayImport: ["store"] },
  sql: {
    holds: "a store in PostgreSQL or SQLite; its host is in a folder of its own",
    not: "executions",
    mayImport: ["store", "circuit"]
  },
  agent: { holds: "durable agents: options, versions, questions to people", not: "a run", mayImport: ["store"] },
  queue: { holds: "slots of a process, and of an agent's queue", not: "a claim", mayImport: [] },
  run: {
    holds: "the execution of one run: prepared, recorded, settled",
    not: "who owns the run",
    mayImport: ["agent", "queue", "store"]
  },
  runner: {
    holds: "a process that takes runs, keeps and releases them; placement by a cluster",
    not: "the interface of programs",
    mayImport: ["run", "agent", "queue", "store"]
  },
  service: {
    holds: "the operations of `Runs`, from any process that has the store",
    not: "an executor",
    mayImport: ["runner", "run", "agent", "queue", "store"]
  }
}

export const durable: Layout = { package: "durable", rooms, words: new Set(["HostStates"]) }
