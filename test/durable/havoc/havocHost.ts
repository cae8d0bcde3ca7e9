/** Hosts of the havoc, and their databases: runs are placed by rows and NOTIFY, by a cluster, or by the rows of a file that all processes share. */
import type { RunStore } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import { Layer } from "effect"
import { join } from "node:path"
import type { SqlAddress } from "../../support/connections.ts"
import { clusterPlace } from "../clusterPlace.ts"
import { startPostgres } from "../postgres.ts"

/** Hosts that place runs. `sqlite`: the host in SQL, over a file. */
export const hosts = ["sql", "cluster", "sqlite"] as const

/** The host that places runs. */
export type Host = typeof hosts[number]

/** A database of the havoc. */
export interface Database {
  readonly address: SqlAddress
  /** Ends it as a crash does, and starts it again. A file has no server: its processes are killed together. */
  readonly crash?: () => void
  readonly close: () => void
}

/** Starts a PostgreSQL server, or names a file in a directory. */
export const openDatabase = async (host: Host, directory: string): Promise<Database> => {
  if (host === "sqlite") {
    return { address: { kind: "sqlite", file: join(directory, "runs.db") }, close: () => undefined }
  }
  const { close, crash, url } = await startPostgres()
  return { address: { kind: "postgres", url, schema: "public", mayCrash: true }, crash, close }
}

/** Rows as a host has them. */
export const hosted = <A, E>(
  host: Host,
  address: SqlAddress,
  rows: Layer.Layer<A | RunStore.RunStore, E>,
  kind: "runner" | "client"
): Layer.Layer<A | RunStore.RunStore, unknown> => {
  if (host !== "cluster") return rows
  const placed = kind === "runner" ? Cluster.layer({ sweep: "2 seconds" }) : Cluster.layerClient
  return Layer.merge(rows, placed.pipe(Layer.provide(rows), Layer.provide(clusterPlace(address, kind))))
}
