/** The host that places runs: rows of the database alone (`sql`), or effect's cluster over the same rows (`cluster`). */
import { NodeClusterHttp } from "@effect/platform-node"
import type { RunStore } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import { NodeSqliteClient } from "@recourse/sql"
import { Effect, Layer, Option } from "effect"
import { RunnerAddress } from "effect/cluster"
import { createServer } from "node:net"
import { stores } from "./office.ts"

/** The name of a host. */
export type Host = "sql" | "cluster"

/** The host of `--host`. Default: `sql`. */
export const hostOf = (argv: ReadonlyArray<string>): Host => {
  const at = argv.indexOf("--host")
  const host = at === -1 ? "sql" : argv[at + 1]
  if (host !== "sql" && host !== "cluster") throw new Error(`--host is "sql" or "cluster", and not "${host}"`)
  return host
}

/** A port of this machine that no server has. In production each runner has an address of its own. */
const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

/** The place of a process in the cluster: messages, and the locks of shards, are in the same database as the runs. */
const place = (database: string, kind: "worker" | "client") =>
  Layer.unwrap(Effect.map(freePort, (port) =>
    NodeClusterHttp.layer({
      transport: "http",
      storage: "sql",
      clientOnly: (kind === "client") as false,
      shardingConfig: {
        shardsPerGroup: 8,
        entityMessagePollInterval: "1 second",
        runnerAddress: kind === "client" ? Option.none() : Option.some(RunnerAddress.make("127.0.0.1", port))
      }
    }).pipe(Layer.provide(NodeSqliteClient.layer({ filename: database })))))

/** Runs and keys of a process. The host is one line of layers: agents and tools are the same. */
export const hosted = (host: Host, database: string, kind: "worker" | "client") => {
  const rows = stores(database)
  if (host === "sql") return rows
  const placed: Layer.Layer<RunStore.RunStore, never, never> = Layer.orDie(
    (kind === "client" ? Cluster.layerClient : Cluster.layer({ sweep: "1 second" })).pipe(
      Layer.provide([rows, place(database, kind)])
    )
  )
  return Layer.merge(rows, placed)
}
