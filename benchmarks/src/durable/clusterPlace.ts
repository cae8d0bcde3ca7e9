/** A place of a process in effect's cluster: over HTTP, with messages and the locks of shards in PostgreSQL. */
import { NodeClusterHttp } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted } from "effect"
import { RunnerAddress, type Sharding } from "effect/cluster"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { createServer } from "node:net"

const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

/** The client of this version does not say its driver, which the locks of shards look for. */
const sqlOf = (url: string) =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.map(
      PgClient.make({ url: Redacted.make(url), maxConnections: 20 }),
      (client): SqlClient.SqlClient => Object.assign(client, { driver: "pg" })
    )
  ).pipe(Layer.provide(Reactivity.layer))

/** A process that shards are assigned to, or one that only sends. */
export const clusterPlace = (url: string, kind: "runner" | "client"): Layer.Layer<Sharding.Sharding, unknown> =>
  Layer.unwrap(Effect.map(freePort, (port) =>
    NodeClusterHttp.layer({
      transport: "http",
      storage: "sql",
      clientOnly: (kind === "client") as false,
      shardingConfig: {
        shardsPerGroup: 8,
        refreshAssignmentsInterval: "500 millis",
        entityMessagePollInterval: "1 second",
        runnerAddress: kind === "client" ? Option.none() : Option.some(RunnerAddress.make("127.0.0.1", port))
      }
    }).pipe(Layer.provide(sqlOf(url)))))
