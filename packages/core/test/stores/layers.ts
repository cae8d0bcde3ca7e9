/** Ledgers that survive a process: in files, in an embedded PostgreSQL, and on a server at `LEDGER_URL`. */
import { NodeRedis, NodeServices } from "@effect/platform-node"
import { Layer } from "effect"
import { KeyValueStore } from "effect/persistence"
import { IdempotencyLedger } from "@recourse/core"
import * as PgliteStream from "./PgliteStream.ts"

export type StoreName = "files" | "sql" | "redis"

export const stores: Record<
  StoreName,
  (directory: string) => Layer.Layer<IdempotencyLedger.IdempotencyLedger, unknown>
> = {
  files: (directory: string) =>
    IdempotencyLedger.layerKeyValueStore().pipe(
      Layer.provide(KeyValueStore.layerFileSystem(directory)),
      Layer.provide(NodeServices.layer)
    ),
  sql: (directory: string) => IdempotencyLedger.layerSql().pipe(Layer.provide(PgliteStream.layer(directory))),
  redis: () =>
    IdempotencyLedger.layerRedis().pipe(Layer.provide(NodeRedis.layer({ url: process.env["LEDGER_URL"] ?? "" })))
}
