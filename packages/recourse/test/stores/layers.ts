/** Ledgers that survive a process: in files, and in an embedded PostgreSQL. */
import { NodeServices } from "@effect/platform-node"
import { Layer } from "effect"
import { KeyValueStore } from "effect/persistence"
import { IdempotencyLedger } from "recourse"
import * as PgliteStream from "./PgliteStream.ts"

export type StoreName = "files" | "sql"

export const stores: Record<
  StoreName,
  (directory: string) => Layer.Layer<IdempotencyLedger.IdempotencyLedger, unknown>
> = {
  files: (directory: string) =>
    IdempotencyLedger.layerKeyValueStore().pipe(
      Layer.provide(KeyValueStore.layerFileSystem(directory)),
      Layer.provide(NodeServices.layer)
    ),
  sql: (directory: string) => IdempotencyLedger.layerSql().pipe(Layer.provide(PgliteStream.layer(directory)))
}
