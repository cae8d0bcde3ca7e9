/** Hosts of the havoc: runs are placed by rows and NOTIFY, or by a cluster. */
import type { RunStore } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import { Layer } from "effect"
import type { SqlAddress } from "../../support/connections.ts"
import { clusterPlace } from "../clusterPlace.ts"

/** The host that places runs. */
export type Host = "sql" | "cluster"

/** Rows as a host has them. */
export const hosted = <A, E>(
  host: Host,
  address: SqlAddress,
  rows: Layer.Layer<A | RunStore.RunStore, E>,
  kind: "runner" | "client"
): Layer.Layer<A | RunStore.RunStore, unknown> => {
  if (host === "sql") return rows
  const placed = kind === "runner" ? Cluster.layer({ sweep: "2 seconds" }) : Cluster.layerClient
  return Layer.merge(rows, placed.pipe(Layer.provide(rows), Layer.provide(clusterPlace(address, kind))))
}
