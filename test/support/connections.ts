/** Addresses of tests' stores, in a form for another process. */
import { NodeRedis, NodeServices } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { IdempotencyLedger } from "@recourse/core"
import { MysqlClient, NodeSqliteClient } from "@recourse/sql"
import { Layer, Redacted } from "effect"
import type { Redis } from "effect/persistence"
import type { SqlClient } from "effect/sql"
import * as PgliteStream from "./pgliteStream.ts"

/** A database of a test's own. */
export type SqlAddress =
  | {
    readonly kind: "postgres"
    readonly url: string
    readonly schema: string
    /** True if the test crashes the server: commits wait for the disk. */
    readonly mayCrash?: boolean
  }
  | { readonly kind: "pglite"; readonly directory?: string }
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "mysql"; readonly url: string; readonly database: string }

/** A Redis, and a test's key prefix. */
export interface RedisAddress {
  readonly kind: "redis"
  readonly url: string
  readonly prefix: string
}

/** Possible address of a ledger. */
export type Address = SqlAddress | RedisAddress | { readonly kind: "files"; readonly directory: string }

/** Connection options of a MySQL server. */
export const mysqlOptions = (url: string) => {
  const { hostname, password, port, username } = new URL(url)
  return {
    host: hostname,
    port: port === "" ? 3306 : Number(port),
    username: decodeURIComponent(username),
    ...(password === "" ? undefined : { password: Redacted.make(decodeURIComponent(password)) })
  }
}

/** A client of a database. */
export const sqlLayer = (address: SqlAddress): Layer.Layer<SqlClient.SqlClient, unknown> => {
  switch (address.kind) {
    case "postgres":
      return PgClient.layer({
        url: Redacted.make(address.url),
        maxConnections: 4,
        startupOptions: `-c search_path=${address.schema} -c synchronous_commit=${
          address.mayCrash === true ? "on" : "off"
        }`
      })
    case "pglite":
      return PgliteStream.layer(address.directory)
    case "sqlite":
      return NodeSqliteClient.layer({ filename: address.file })
    case "mysql":
      return MysqlClient.layer({ ...mysqlOptions(address.url), database: address.database, maxConnections: 4 })
  }
}

/** A client of Redis. */
export const redisLayer = (url: string): Layer.Layer<Redis.Redis, unknown> => NodeRedis.layer({ url })

/** A ledger at an address. */
export const ledgerLayer = (
  address: Address,
  options?: IdempotencyLedger.LeaseOptions
): Layer.Layer<IdempotencyLedger.IdempotencyLedger, unknown> => {
  switch (address.kind) {
    case "redis":
      return IdempotencyLedger.layerRedis({ ...options, prefix: address.prefix }).pipe(
        Layer.provide(redisLayer(address.url))
      )
    case "files":
      return IdempotencyLedger.layerFiles(address.directory, options).pipe(Layer.provide(NodeServices.layer))
    default:
      return IdempotencyLedger.layerSql(options).pipe(Layer.provide(sqlLayer(address)))
  }
}
