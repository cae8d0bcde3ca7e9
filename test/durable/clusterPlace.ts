/** A place of a process in a cluster: over HTTP, with locks and messages in PostgreSQL. */
import { NodeClusterHttp } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted } from "effect"
import { RunnerAddress, type Sharding } from "effect/cluster"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import type { SqlAddress } from "../support/connections.ts"
import { freePort } from "./postgres.ts"

type Address = Extract<SqlAddress, { readonly kind: "postgres" }>

/** The client of this version does not say its driver, which the locks of shards look for. */
const sqlOf = ({ schema, url }: Address) =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.map(
      PgClient.make({ url: Redacted.make(url), maxConnections: 8, startupOptions: `-c search_path=${schema}` }),
      (client): SqlClient.SqlClient => Object.assign(client, { driver: "pg" })
    )
  ).pipe(Layer.provide(Reactivity.layer))

/** A process that shards are assigned to, or one that only sends. */
export const clusterPlace = (
  address: SqlAddress,
  kind: "runner" | "client"
): Layer.Layer<Sharding.Sharding, unknown> =>
  Layer.unwrap(Effect.map(Effect.promise(freePort), (port) =>
    NodeClusterHttp.layer({
      transport: "http",
      storage: "sql",
      clientOnly: (kind === "client") as false,
      shardingConfig: {
        shardsPerGroup: 8,
        refreshAssignmentsInterval: "200 millis",
        entityMessagePollInterval: "200 millis",
        runnerAddress: kind === "client" ? Option.none() : Option.some(RunnerAddress.make("127.0.0.1", port))
      }
    }).pipe(Layer.provide(sqlOf(address as Address)))))
