/** Stores of durable runs in this process: in memory, and in SQLite. `test/support/runStores.ts` has those that processes share. */
import { RunStore } from "@recourse/durable"
import { NodeSqliteClient } from "@recourse/sql"
import { Layer } from "effect"

export const localStores = {
  memory: RunStore.layerMemory,
  sqlite: RunStore.layerSql().pipe(Layer.provide(NodeSqliteClient.layer({ filename: ":memory:" })), Layer.orDie)
} as const
